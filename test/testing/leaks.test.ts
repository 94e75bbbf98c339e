import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { promisify } from 'node:util';
import { afterEach, describe, expect, test } from 'vitest';
import { agent, createHost, type Host, type HostSession } from '../../src/index.js';
import { scriptedModel } from '../../src/testing/index.js';
import { expectNoLeaks } from '../../src/testing/leaks.js';
import { virtualClock } from '../../src/testing/virtual-clock.js';
import '../support/process-limit.js';

const cleanUps: (() => void)[] = [];
afterEach(() => {
  for (const cleanUp of cleanUps.splice(0)) cleanUp();
});
/** Few rounds: what these tests leave behind is left for good. */
const soon = { rounds: 25 };

describe('nothing is left', () => {
  test('an action that cleans up passes, and its result is given back', async () => {
    const signal = new AbortController().signal;
    const clock = virtualClock();
    const result = await expectNoLeaks(
      async () => {
        const timer = setTimeout(() => {}, 60_000);
        const listener = () => {};
        signal.addEventListener('abort', listener);
        const cancel = clock.schedule(() => {}, 10);
        await Promise.reject(new Error('handled')).catch(() => {});
        clearTimeout(timer);
        signal.removeEventListener('abort', listener);
        cancel();
        return 'done';
      },
      { signals: [signal], clocks: [clock] },
    );
    expect(result).toBe('done');
  });

  test('a server, a socket and a child process that are closing are waited for', async () => {
    await expectNoLeaks(async () => {
      const server = createServer((socket) => socket.resume().on('end', () => socket.end()));
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
      await once(socket, 'connect');
      const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
      await once(child, 'spawn');
      child.kill('SIGKILL');
      socket.end();
      server.close();
    });
  });

  test('what was there before is not counted', async () => {
    const timer = setTimeout(() => {}, 60_000);
    cleanUps.push(() => clearTimeout(timer));
    const { signal } = new AbortController();
    signal.addEventListener('abort', () => {});
    await expectNoLeaks(async () => {}, { signals: [signal] });
  });

  test('timers that fired or were cleared are over, and the globals are what they were', async () => {
    const { setTimeout: timeout, setInterval: interval } = globalThis;
    const wait = promisify(setTimeout);
    await Promise.all([
      expectNoLeaks(() => wait(1)),
      expectNoLeaks(async () => {
        expect(promisify(setTimeout)).toBe(wait);
        for (let count = 0; count < 1_000; count++) clearTimeout(setTimeout(() => {}, 60_000));
        clearInterval(setInterval(() => {}, 60_000));
        await new Promise<void>((resolve) => setTimeout(resolve, 1));
      }),
    ]);
    expect([globalThis.setTimeout, globalThis.setInterval]).toEqual([timeout, interval]);
  });

  test('the error of the action is what is thrown', async () => {
    const failing = expectNoLeaks(async () => {
      const timer = setTimeout(() => {}, 60_000);
      cleanUps.push(() => clearTimeout(timer));
      throw new Error('the action failed');
    });
    await expect(failing).rejects.toThrow('the action failed');
  });
});

describe('what is left is named', () => {
  test('a timer and an interval', async () => {
    const leaking = expectNoLeaks(async () => {
      const timer = setTimeout(() => {}, 60_000);
      const interval = setInterval(() => {}, 60_000);
      cleanUps.push(
        () => clearTimeout(timer),
        () => clearInterval(interval),
      );
    }, soon);
    await expect(leaking).rejects.toThrow(/left behind: .*[2-9] × timer \(Timeout\)/);
  });

  test('a timer that was unrefed, and one beside timers of others that end meanwhile', async () => {
    const others = [1, 2, 3].map(() => setTimeout(() => {}, 60_000));
    const leaking = expectNoLeaks(async () => {
      const timer = setTimeout(() => {}, 60_000).unref();
      const second = setTimeout(() => {}, 60_000);
      cleanUps.push(
        () => clearTimeout(timer),
        () => clearTimeout(second),
      );
      for (const other of others) clearTimeout(other);
    }, soon);
    await expect(leaking).rejects.toThrow('2 × timer (Timeout)');
  });

  test('a server and both ends of a connection', async () => {
    const leaking = expectNoLeaks(async () => {
      const server = createServer((socket) => cleanUps.push(() => socket.destroy()));
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
      cleanUps.push(
        () => server.close(),
        () => socket.destroy(),
      );
      await Promise.all([once(socket, 'connect'), once(server, 'connection')]);
    }, soon);
    const error = await leaking.catch((thrown: Error) => thrown.message);
    expect(error).toContain('1 × listening server (TCPServerWrap)');
    expect(error).toContain('2 × socket (TCPSocketWrap)');
  });

  test('a child process', async () => {
    const leaking = expectNoLeaks(async () => {
      const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
      cleanUps.push(() => child.kill('SIGKILL'));
      await once(child, 'spawn');
    }, soon);
    await expect(leaking).rejects.toThrow('1 × child process (ProcessWrap)');
  });

  test('a listener on a signal and a task on a clock', async () => {
    const signals = [new AbortController().signal, new AbortController().signal];
    const clock = virtualClock();
    const leaking = expectNoLeaks(
      async () => {
        signals[1]!.addEventListener('abort', () => {});
        clock.schedule(() => {}, 5);
      },
      { ...soon, signals, clocks: [clock] },
    );
    await expect(leaking).rejects.toThrow('left behind: 1 × abort listener of signal 1; 1 × scheduled task of clock 0');
  });

  test('a rejection that nobody handles', async () => {
    const others = process.listeners('unhandledRejection');
    process.removeAllListeners('unhandledRejection');
    try {
      const leaking = expectNoLeaks(async () => {
        void Promise.reject(new TypeError('lost'));
      }, soon);
      await expect(leaking).rejects.toThrow('an unhandled rejection: TypeError: lost');
      expect(process.listenerCount('unhandledRejection')).toBe(0);
    } finally {
      for (const listener of others) process.on('unhandledRejection', listener);
    }
  });

  test('an endless chain of setImmediate', async () => {
    let on = true;
    cleanUps.push(() => {
      on = false;
    });
    const pump = () => {
      if (on) setImmediate(pump);
    };
    await expect(expectNoLeaks(async () => pump(), soon)).rejects.toThrow('1 × setImmediate callback');
  });

  test('a resource that may stay is not told of', async () => {
    await expectNoLeaks(
      async () => {
        const timer = setTimeout(() => {}, 60_000);
        cleanUps.push(() => clearTimeout(timer));
      },
      { ...soon, allow: ['Timeout'] },
    );
  });
});

test('a session that was left open is a leak, whether its host was made in the action or before it', async () => {
  const idle = (host: Host) => host.session(agent({ name: 'a' }));
  const talk = async (session: HostSession) => {
    for await (const _ of session.stream({ kind: 'message', content: 'go' }).stream);
  };
  const made = () => createHost({ models: { scripted: scriptedModel(() => ({ text: 'ok' })) } });
  const host = made();
  const left = idle(host);
  await expect(expectNoLeaks(() => talk(left), soon)).rejects.toThrow('left behind: 1 × open session');
  await expectNoLeaks(() => left.close(), soon);
  await expectNoLeaks(async () => {
    await host.run(agent({ name: 'a' }), 'go').result;
    const another = idle(host);
    await talk(another);
    await another.close();
  }, soon);
  let inside: Host | undefined;
  const leaking = expectNoLeaks(async () => {
    inside = made();
    await talk(idle(inside));
  }, soon);
  await expect(leaking).rejects.toThrow('1 × open session');
  await expectNoLeaks(() => inside!.close());
  await host.close();
});
