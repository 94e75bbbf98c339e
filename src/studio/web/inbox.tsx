import { type ReactNode, useState } from 'react';
import type { ElicitationAnswer } from '../../contracts/index.js';
import type { Overview, WaitingQuestion } from '../wire.js';
import { answerFields, type FieldValue, readAnswer } from './answer-fields.js';
import { AnswerFields } from './answer-form.js';
import { approvalOf } from './approval.js';
import { oneLine } from './clipped.js';
import { durationText } from './figures.js';
import { DiffView, JsonView, TextView } from './text-view.js';
import { type Sending, useCommand } from './use-command.js';
import { useNow } from './use-feed.js';
import { useFocusHeir } from './use-focus-heir.js';

export interface InboxItem extends WaitingQuestion {
  readonly host: string;
  readonly session: string;
  readonly title: string;
}

const SHOWN = 50;

/** Every question that waits, of every session. */
export function inboxOf(overview: Overview | undefined): InboxItem[] {
  return (overview?.hosts ?? []).flatMap(({ id: host, sessions }) =>
    sessions.flatMap(({ id: session, agentName, title, questions }) =>
      questions.map((question) => ({ ...question, host, session, title: title ?? agentName })),
    ),
  );
}

export interface InboxProps {
  readonly items: readonly InboxItem[];
  readonly onOpen: (item: InboxItem) => void;
}

export function Inbox({ items, onOpen }: InboxProps): ReactNode {
  const focus = useFocusHeir(() => document.getElementById('inbox-toggle'));
  return (
    <section {...focus} className="inbox" aria-label="Inbox">
      <h2>
        Inbox <span className="count">{items.length}</span>
      </h2>
      <div className="inbox-list" aria-live="polite" tabIndex={-1}>
        {items.length === 0 && (
          <p className="empty">Nobody waits for you. Questions and approvals of every session show up here.</p>
        )}
        {items.slice(0, SHOWN).map((item) => (
          <Card key={`${item.host} ${item.session} ${item.request.requestId}`} item={item} onOpen={onOpen} />
        ))}
        {items.length > SHOWN && <p className="quiet">{items.length - SHOWN} more wait behind these.</p>}
      </div>
    </section>
  );
}

function Card({ item, onOpen }: { readonly item: InboxItem; readonly onOpen: InboxProps['onOpen'] }): ReactNode {
  const { request, agentName, host, session, title } = item;
  const sending = useCommand();
  // The list, not the next card: a second Enter must not say yes to what nobody has read.
  const focus = useFocusHeir((card) => card.parentElement);
  const answer = (given: ElicitationAnswer) =>
    void sending.send({ host, command: 'respond', session, requestId: request.requestId, answer: given });
  const who = typeof request.context?.principalPath === 'string' ? request.context.principalPath : agentName;
  return (
    <article {...focus} className="card">
      <header>
        <button type="button" className="link" onClick={() => onOpen(item)} title="Show the thread that asks">
          {oneLine(who.replaceAll('/', ' › '), 200)}
        </button>
        <span className="quiet">{oneLine(title, 60)}</span>
        {request.expiresAt !== undefined && <Expiry at={request.expiresAt} />}
      </header>
      {request.kind === 'tool_confirmation' ? (
        <ApprovalCard item={item} sending={sending} answer={answer} />
      ) : (
        <QuestionCard item={item} sending={sending} answer={answer} />
      )}
      {sending.fault !== undefined && (
        <p className="fault" role="alert">
          {oneLine(sending.fault, 500)}
        </p>
      )}
    </article>
  );
}

function Expiry({ at }: { readonly at: string }): ReactNode {
  const left = Date.parse(at) - useNow(1_000);
  return (
    <span className={`expiry${left < 30_000 ? ' is-near' : ''}`}>{left > 0 ? durationText(left) : 'expired'}</span>
  );
}

interface AnswerProps {
  readonly item: InboxItem;
  readonly sending: Sending;
  readonly answer: (given: ElicitationAnswer) => void;
}

function ApprovalCard({ item: { request }, sending, answer }: AnswerProps): ReactNode {
  const approval = approvalOf(request);
  const [changed, setChanged] = useState<string>();
  const [fault, setFault] = useState<string>();
  const accept = (outcome: string) => answer({ action: 'accept', content: { outcome } });
  const submitChange = () => {
    try {
      const modifiedArgs: unknown = JSON.parse(changed ?? '');
      answer({ action: 'accept', content: { outcome: 'modify', modifiedArgs } });
    } catch {
      setFault('This is no JSON: check quotes and commas.');
    }
  };
  return (
    <>
      <p>
        wants to use <strong className="code">{oneLine(approval.tool, 120)}</strong>
      </p>
      {request.title !== undefined && <p>{oneLine(request.title, 300)}</p>}
      <TextView text={request.message} most={600} className="quiet" />
      {approval.commands.length > 0 && (
        <TextView
          text={approval.commands.map((command) => `$ ${command}`).join('\n')}
          most={3_000}
          className="code box"
        />
      )}
      {approval.diff !== undefined && <DiffView diff={approval.diff} />}
      {approval.args !== undefined && (
        <details open={approval.diff === undefined && approval.commands.length === 0}>
          <summary>Arguments</summary>
          <JsonView value={approval.args} />
        </details>
      )}
      {approval.rule !== undefined && <p className="quiet">Asked because of {oneLine(approval.rule, 300)}</p>}
      {changed !== undefined && (
        <div className="field">
          <label>
            All arguments, as they are to be
            <textarea rows={6} value={changed} onChange={(event) => setChanged(event.target.value)} />
          </label>
          {fault !== undefined && <span className="fault">{fault}</span>}
        </div>
      )}
      {approval.savedRules !== undefined && (
        <details>
          <summary>The rule that would be saved</summary>
          <JsonView value={approval.savedRules} />
        </details>
      )}
      <div className="buttons">
        {changed === undefined ? (
          <button type="button" className="primary" disabled={sending.isBusy} onClick={() => accept('proceed_once')}>
            Allow once
          </button>
        ) : (
          <button type="button" className="primary" disabled={sending.isBusy} onClick={submitChange}>
            Allow as changed
          </button>
        )}
        <button type="button" disabled={sending.isBusy} onClick={() => answer({ action: 'decline' })}>
          Decline
        </button>
        <select
          aria-label="More answers"
          value=""
          disabled={sending.isBusy}
          onChange={({ target }) => {
            if (target.value === 'change') setChanged(JSON.stringify(approval.args ?? {}, undefined, 2));
            else accept(target.value);
          }}
        >
          <option value="">More…</option>
          {approval.more.map(({ outcome, label }) => (
            <option key={outcome} value={outcome}>
              {label}
            </option>
          ))}
          {approval.canChange && changed === undefined && <option value="change">Change the arguments…</option>}
        </select>
      </div>
    </>
  );
}

function QuestionCard({ item: { request }, sending, answer }: AnswerProps): ReactNode {
  const fields = answerFields(request.requestedSchema, request.kind === 'auth_required');
  const [values, setValues] = useState<Readonly<Record<string, FieldValue | undefined>>>({});
  const [faults, setFaults] = useState<Readonly<Record<string, string>>>({});
  const submit = () => {
    if (fields.length === 0) return answer({ action: 'accept' });
    const read = readAnswer(fields, values);
    if ('faults' in read) return setFaults(read.faults);
    setFaults({});
    answer({ action: 'accept', content: { ...read.content } });
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      {request.title !== undefined && <p className="card-title">{oneLine(request.title, 300)}</p>}
      <TextView text={request.message} most={1_500} />
      {request.context !== undefined && (
        <details>
          <summary>Why it asks</summary>
          <JsonView value={request.context} />
        </details>
      )}
      <AnswerFields
        fields={fields}
        values={values}
        faults={faults}
        onChange={(key, value) => setValues((before) => ({ ...before, [key]: value }))}
      />
      <div className="buttons">
        <button type="submit" className="primary" disabled={sending.isBusy}>
          {fields.length === 0 ? 'Accept' : 'Answer'}
        </button>
        <button type="button" disabled={sending.isBusy} onClick={() => answer({ action: 'decline' })}>
          Decline
        </button>
        <button type="button" disabled={sending.isBusy} onClick={() => answer({ action: 'cancel' })}>
          Cancel it
        </button>
      </div>
    </form>
  );
}
