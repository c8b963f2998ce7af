// Judges what was admitted, without the code that admitted it. Admissions are counts for each millisecond from
// `originMs` on. The algorithm's own count is fed with what was admitted, at the moment it was, whether it fits or not:
// the most that it is ever above the limit is what was admitted too much.

/** Returns by how much the count of an algorithm was ever above its limit; 0 or less is kept. */
export function mostOver(rule, admitted, originMs) {
  let most = Number.NEGATIVE_INFINITY
  const count = COUNTS[rule.sub_windows === undefined ? rule.algorithm : 'sub_windows'](rule)
  admitted.forEach((hits, i) => {
    if (hits > 0) most = Math.max(most, count(originMs + i, hits) - capacityOf(rule))
  })
  return most
}

const capacityOf = ({ burst, requests_per_unit }) => burst ?? requests_per_unit
const windowOf = ({ window }) => Number(window.replace('ms', ''))

const COUNTS = {
  fixed_window(rule) {
    let [index, used] = [-1, 0]
    return (ms, hits) => {
      const now = Math.floor(ms / windowOf(rule))
      if (now !== index) used = 0
      index = now
      used += hits
      return used
    }
  },
  sliding_window(rule) {
    const length = windowOf(rule)
    let [index, previous, current] = [-2, 0, 0]
    return (ms, hits) => {
      const now = Math.floor(ms / length)
      if (now !== index) {
        previous = now === index + 1 ? current : 0
        current = 0
      }
      index = now
      current += hits
      return current + Math.floor((previous * (length - 1 - (Math.floor(ms) % length))) / length)
    }
  },
  /** The oldest part counts whole: a hit counts until a window after the end of its part. */
  sub_windows(rule) {
    const length = windowOf(rule)
    const part = Math.ceil(length / rule.sub_windows)
    const records = []
    let used = 0
    return (ms, hits) => {
      records.push([ms - (ms % part) + part - 1, hits])
      used += hits
      while (records[0][0] <= ms - length) used -= records.shift()[1]
      return used
    }
  },
  token_bucket(rule) {
    const perMs = rule.requests_per_unit / windowOf(rule)
    let [used, then] = [0, 0]
    return (ms, hits) => {
      used = Math.max(0, used - (ms - then) * perMs) + hits
      then = ms
      return used
    }
  },
}

/** inLastWindow returns, for each millisecond, what was admitted in the window that ends with it. */
export const inLastWindow = (rule, admitted) => inLast(windowOf(rule), admitted)

/** inLast returns, for each millisecond, the sum of the counts of the last so many. */
export function inLast(lengthMs, counts) {
  let sum = 0
  return counts.map((hits, i) => {
    sum += hits - (counts[i - lengthMs] ?? 0)
    return sum
  })
}
