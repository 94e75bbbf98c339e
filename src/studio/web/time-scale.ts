/** A stretch of time, epoch ms. */
export interface Stretch {
  readonly from: number;
  readonly until: number;
}

const SHORTEST_MS = 1;

/** The stretch around a moment made shorter or longer: `factor` 0.5 shows half of it. It stays within `whole`. */
export function zoomed({ from, until }: Stretch, whole: Stretch, at: number, factor: number): Stretch {
  const length = Math.max(SHORTEST_MS, Math.min((until - from) * factor, whole.until - whole.from));
  const share = (at - from) / Math.max(SHORTEST_MS, until - from);
  return within({ from: at - length * share, until: at + length * (1 - share) }, whole);
}

export const moved = ({ from, until }: Stretch, whole: Stretch, by: number): Stretch =>
  within({ from: from + by, until: until + by }, whole);

function within({ from, until }: Stretch, whole: Stretch): Stretch {
  const length = until - from;
  const start = Math.max(whole.from, Math.min(from, whole.until - length));
  return { from: start, until: start + length };
}

const ROUND = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000,
];

/** Round moments after the beginning of the run, about one per 110 px. */
export function ticksOf({ from, until }: Stretch, origin: number, width: number): number[] {
  const wanted = ((until - from) / Math.max(1, width)) * 110;
  const every = ROUND.find((one) => one >= wanted) ?? Math.ceil(wanted / 600_000) * 600_000;
  const ticks: number[] = [];
  for (let at = Math.ceil((from - origin) / every) * every; origin + at <= until && ticks.length < 100; at += every)
    ticks.push(at);
  return ticks;
}
