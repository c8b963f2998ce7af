import type { LiveFrame } from './operations.ts'

const HOUR_FRAMES = 3_600
/** Frames whose rules are kept: an hour of a hundred rules a second would be tens of megabytes. */
const RULE_FRAMES = 300

/** withFrames is a list of the last hour with more frames at its end. Those before the last five minutes lose their rules. */
export function withFrames(list: readonly LiveFrame[], more: readonly LiveFrame[]): readonly LiveFrame[] {
  const all = [...list, ...more].slice(-HOUR_FRAMES)
  for (let i = 0; i < all.length - RULE_FRAMES; i++) {
    if (all[i].rules.length > 0) all[i] = { ...all[i], rules: [] }
  }
  return all
}
