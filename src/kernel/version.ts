/** Semver of the whole interface layer. */
export const INTERFACE_VERSION = '1.0.0';

export type Compatibility = { compatible: true } | { compatible: false; reason: string };

const SEMVER = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/;

/**
 * Whether an agent written against `agent` runs on a host of `host`: same major, and the agent's minor is not newer.
 * A malformed version is incompatible.
 */
export function isCompatible(agent: string, host: string = INTERFACE_VERSION): Compatibility {
  const asked = SEMVER.exec(agent);
  if (!asked) return { compatible: false, reason: `"${agent}" is no semantic version (such as ${INTERFACE_VERSION})` };
  const offered = SEMVER.exec(host);
  if (!offered) return { compatible: false, reason: `"${host}" is no semantic version (such as ${INTERFACE_VERSION})` };
  if (asked[1] !== offered[1]) {
    return { compatible: false, reason: `interface ${agent} has another major version than the host's ${host}` };
  }
  if (Number(asked[2]) > Number(offered[2])) {
    return { compatible: false, reason: `interface ${agent} is newer than the host's ${host}` };
  }
  return { compatible: true };
}
