/** What the top of a scale may be, of each power of ten. */
const STEPS = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10]
/** The scale shrinks when less of it than this is used: values that change a little do not move it. */
const LEAST_USED = 0.4
const HEADROOM = 1.05

/** topOf is where a scale ends: a round number above the largest value, or the one before while that fits. */
export function topOf(largest: number, before = 0): number {
  const needed = largest * HEADROOM
  if (before > 0 && needed <= before && largest >= before * LEAST_USED) return before
  if (!(needed > 0)) return 1
  const power = 10 ** Math.floor(Math.log10(needed))
  // 8 is above 7.999…: what floating point adds is not seen.
  const step = STEPS.find((each) => each * power * (1 + 1e-9) >= needed) ?? 10
  return Number((step * power).toPrecision(3))
}

/** nearestIndex is the place of the time that is nearest, in times that rise; -1 where there is none. */
export function nearestIndex(times: ArrayLike<number>, at: number): number {
  let [low, high] = [0, times.length - 1]
  if (high < 0) return -1
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if (times[middle] < at) low = middle
    else high = middle
  }
  return at - times[low] <= times[high] - at ? low : high
}

/** thinned returns the places of at most `most` points, evenly spread, the last of them first. */
export function thinned(count: number, most: number): number[] {
  const every = Math.max(1, Math.ceil(count / most))
  const places: number[] = []
  for (let at = count - 1; at >= 0; at -= every) places.push(at)
  return places
}
