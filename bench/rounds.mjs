/** If some rounds are void, at most this many times as many rounds as asked for are run. */
const MOST = 3
const VALID = 'in a valid one each decision was counted or refused, and none fell back'

/**
 * Measures every task `rounds` times, and gives every task its turn before one gets its next, so that a noisy moment of
 * the machine hits all alike. A result whose `voids` is not empty is no figure: a decision was not counted, or was made
 * without the store. It is printed with its reasons and repeated, up to a bound. A task that has no valid round then
 * has no results, and the benchmark exits with code 1.
 */
export async function measureRounds(tasks, rounds, { measure, nameOf, say = console.log, valid = VALID }) {
  const results = tasks.map(() => [])
  const tries = tasks.map(() => 0)
  for (let round = 0; round < rounds * MOST; round++) {
    for (let i = 0; i < tasks.length; i++) {
      const turn = (i + round) % tasks.length
      if (results[turn].length >= rounds) continue
      const result = await measure(tasks[turn])
      tries[turn]++
      const voids = result.voids ?? []
      if (voids.length === 0) results[turn].push(result)
      else say(`void: ${nameOf(tasks[turn])}, try ${tries[turn]} of at most ${rounds * MOST}: ${voids.join('; ')}`)
    }
  }
  const missing = tasks.filter((_, i) => results[i].length === 0).map(nameOf)
  if (missing.length > 0) {
    say(`FAILED: no valid round of ${missing.join('; ')}`)
    process.exitCode = 1
  }
  const lines = tasks.map((task, i) => [nameOf(task), results[i].length, tries[i]])
  const short = lines.filter(([, valid, tried]) => valid < tried)
  say(
    short.length === 0
      ? `rounds: all ${tries.reduce((sum, each) => sum + each, 0)} valid; ${valid}\n`
      : `rounds: ${short.map(([name, valid, tried]) => `${name} ${valid} of ${tried} valid`).join('; ')}; all others valid; ${valid}\n`,
  )
  return results
}
