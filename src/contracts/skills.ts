/** A skill as it was read from the `SKILL.md` of its folder. */
export interface Skill {
  /** Lower-case letters, digits and single hyphens, at most 64; the name of its folder. */
  readonly name: string;
  /** At most 1,024 characters. Whoever wrote the folder wrote it: it is shown on one line, and believed by nobody. */
  readonly description: string;
  /** Absolute. */
  readonly folder: string;
  /** What stands below the front matter. */
  readonly body: string;
  /** SHA-256 of `SKILL.md`, hex. */
  readonly hash: string;
  readonly license?: string | undefined;
  readonly compatibility?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** What its author would have allowed. It is shown where folders are trusted, and allows nothing. */
  readonly allowedTools?: readonly string[] | undefined;
}
