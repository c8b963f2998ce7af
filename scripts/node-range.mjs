/**
 * Returns whether a version lies in a range as package.json writes it in `engines`. Throws on an unknown form rather
 * than guess.
 */
export function satisfiesRange(version, range) {
  const parts = numbers(version)
  return range.split('||').some((alternative) => comparators(alternative).every((holds) => holds(parts)))
}

function comparators(alternative) {
  const text = alternative.trim().replace(/(>=|<=|>|<|=|\^|~)\s+/g, '$1')
  const hyphen = /^(\S+)\s+-\s+(\S+)$/.exec(text)
  const terms = hyphen ? [`>=${hyphen[1]}`, `<=${hyphen[2]}`] : text.split(/[\s,]+/).filter(Boolean)
  return terms.map(comparator)
}

function comparator(term) {
  const match = /^(>=|<=|>|<|=|\^|~)?v?((?:\d+|[xX*])(?:\.(?:\d+|[xX*])){0,2})$/.exec(term)
  if (match === null) throw new Error(`"${term}" is not a version range that this check can read`)
  const [, operator = '=', text] = match
  const low = numbers(text)
  const high = upperBound(operator, low)
  const atLeast = (version) => compare(version, low) >= 0
  const below = (version) => compare(version, high) < 0
  if (operator === '>=') return atLeast
  if (operator === '<') return (version) => !atLeast(version)
  if (operator === '<=') return below
  if (operator === '>') return (version) => !below(version)
  return (version) => atLeast(version) && below(version)
}

/** Returns the first version after all versions that a term names: 20.1 names 20.1.x, and ^20.1 names 20.x. */
function upperBound(operator, low) {
  if (low.length === 0) return [Number.POSITIVE_INFINITY]
  if (operator === '^')
    return bump(
      low,
      Math.max(
        0,
        low.findIndex((part) => part > 0),
      ),
    )
  if (operator === '~') return bump(low, Math.min(1, low.length - 1))
  return bump(low, low.length - 1)
}

const bump = (parts, index) => [...parts.slice(0, index), parts[index] + 1]

/** Reads the leading numbers of a version: '20.x' is [20], '*' is []. */
function numbers(version) {
  const parts = version.split('.')
  const wildcard = parts.findIndex((part) => !/^\d+$/.test(part))
  return parts.slice(0, wildcard === -1 ? 3 : wildcard).map(Number)
}

function compare(a, b) {
  for (let i = 0; i < 3; i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}
