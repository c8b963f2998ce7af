import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ensureInstalled, requireNode, root, runMain, SetupError, say } from './setup.mjs'
import { SourceCopy } from './source-copy.mjs'
import { tryToEnsureSystemPackages } from './system-packages.mjs'

// npm run mutants [-- [--list] [part of a file's name or of a reason]]
// Makes mistakes, one at a time, in a copy of the repository, and looks whether the tests notice.
const listDir = join('tests', 'mutants')
/**
 * Tests that wait without success for longer hang. They would give up after three minutes, which a busy machine may
 * take.
 */
const leastPatienceMs = 90_000
const buildTimeoutMs = 120_000
const allTestsTimeoutMs = 1_800_000

// --- the lists ---

/**
 * A mutant is a mistake: in `file`, `find` becomes `replace`, and each of `tests` fails. `why` says what a user would
 * see.
 */
const textFields = ['file', 'find', 'replace', 'why']

/** Returns the mutants of a list, or throws what is wrong with the first that is none. */
export function parseMutants(json, where) {
  const list = JSON.parse(json)
  if (!Array.isArray(list)) throw new SetupError(`${where}: a list of mutants is an array`)
  for (const [i, mutant] of list.entries()) {
    const wrong = whatIsWrong(mutant)
    if (wrong !== undefined) throw new SetupError(`${where}: mutant ${i + 1}: ${wrong}`)
  }
  return list
}

function whatIsWrong(mutant) {
  const missing = textFields.find((name) => typeof mutant[name] !== 'string')
  if (missing !== undefined) return `"${missing}" must be a text`
  if (mutant.find === mutant.replace) return '"replace" must differ from "find"'
  const { tests } = mutant
  if (!Array.isArray(tests) || tests.length === 0) return '"tests" must name at least one test file'
  return undefined
}

/** Returns the mistakes whose file or reason contains a text. */
export const selectMutants = (mutants, text) =>
  mutants.filter(({ file, why }) => file.includes(text) || why.includes(text))

/** Returns a source with the mistake in it, or undefined if the place is not there exactly once. */
export function mutate(source, { find, replace }) {
  const at = source.indexOf(find)
  if (at < 0 || source.indexOf(find, at + 1) >= 0) return undefined
  return source.slice(0, at) + replace + source.slice(at + find.length)
}

function mutantIn(dir, mutant) {
  const path = join(dir, mutant.file)
  return existsSync(path) ? mutate(readFileSync(path, 'utf8'), mutant) : undefined
}

function readLists() {
  const files = readdirSync(join(root, listDir)).filter((name) => name.endsWith('.json'))
  return files.sort().flatMap((name) => {
    const where = join(listDir, name)
    return parseMutants(readFileSync(join(root, where), 'utf8'), where)
  })
}

// --- the verdict on one ---

/** Returns whether a test runs what was built. */
const crossesProcess = (test) => /(^|\/)tests\//.test(test)

/** Says what a run of tests with the mistake in it means. `failed` are the files in which a test failed. */
export function judge(tests, { code, isLate, failed }) {
  if (isLate) return { verdict: 'caught', note: 'the tests hang' }
  if (code === 0) return { verdict: 'SURVIVED' }
  // The whole run failed, as it does for an error that no test awaits.
  if (failed.length === 0) return { verdict: 'caught', note: 'outside of a test' }
  const passed = tests.filter((test) => !failed.includes(test))
  return passed.length === 0 ? { verdict: 'caught' } : { verdict: 'SURVIVED', note: `in ${passed.join(', ')}` }
}

/** Returns how each test file of vitest's report ended. Their names are relative to where they were run. */
export const readReport = ({ testResults }, dir) =>
  testResults.map(({ name, status, startTime, endTime }) => ({
    file: relative(dir, name),
    isGood: status === 'passed',
    tookMs: endTime - startTime,
  }))

/** How long files may take with a mistake in the sources before they hang. `tookMs`: without it. */
export const patienceMs = (tookMs) => leastPatienceMs + 3 * tookMs.reduce((sum, ms) => sum + ms, 0)

/** Tries mutants in one copy of the repository, which is as it was after each. */
class Trial {
  #copy
  /** The test files that pass without a mistake, and how long each takes. */
  #passing = new Map()

  constructor(copy) {
    this.#copy = copy
  }

  /** Runs all tests once without a mistake. Tests that fail even so could not show anything. */
  async prepare(tests) {
    if (tests.some(crossesProcess) && !(await this.#build()).ok) throw new SetupError('the sources do not build')
    const { files } = await this.#run(tests, allTestsTimeoutMs)
    this.#passing = new Map(files.filter(({ isGood }) => isGood).map(({ file, tookMs }) => [file, tookMs]))
  }

  async try(mutant) {
    const { file, tests } = mutant
    const mutated = mutantIn(this.#copy.dir, mutant)
    if (mutated === undefined) return { verdict: 'does not apply any more' }
    const failing = tests.filter((test) => !this.#passing.has(test))
    if (failing.length > 0) return { verdict: 'the tests fail even without it', note: failing.join(', ') }
    const path = join(this.#copy.dir, file)
    const source = readFileSync(path, 'utf8')
    writeFileSync(path, mutated)
    try {
      if (tests.some(crossesProcess)) {
        const { ok, reason } = await this.#build()
        if (!ok) return { verdict: 'does not build', note: reason }
      }
      const { files, ...ended } = await this.#run(tests, patienceMs(tests.map((test) => this.#passing.get(test))))
      return judge(tests, { ...ended, failed: files.filter(({ isGood }) => !isGood).map(({ file }) => file) })
    } finally {
      writeFileSync(path, source)
    }
  }

  async #build() {
    const { code, text } = await this.#copy.node([join('scripts', 'build.mjs')], buildTimeoutMs)
    return { ok: code === 0, reason: text.match(/error TS.*/)?.[0] ?? text.trim() }
  }

  async #run(tests, timeoutMs) {
    const output = join(this.#copy.dir, 'node_modules', '.cache', 'mutants.json')
    rmSync(output, { force: true })
    const vitest = [join('node_modules', 'vitest', 'vitest.mjs'), 'run', '--reporter=json', `--outputFile=${output}`]
    const { code, isLate } = await this.#copy.node([...vitest, ...tests], timeoutMs)
    const report = existsSync(output) ? JSON.parse(readFileSync(output, 'utf8')) : { testResults: [] }
    return { code, isLate, files: readReport(report, this.#copy.dir) }
  }
}

// --- the command ---

const secondsSince = (startedAt) => `${((performance.now() - startedAt) / 1000).toFixed(1)} s`

function print(mutants) {
  for (const mutant of mutants) {
    const isGone = mutantIn(root, mutant) === undefined
    console.log(`${mutant.file}: ${mutant.why}${isGone ? ' (does not apply any more)' : ''}`)
  }
}

/** Tries mutants one after the other, prints what became of each, and returns how often each verdict was given. */
async function tryAll(trial, mutants) {
  const counts = { caught: 0, SURVIVED: 0 }
  for (const [i, mutant] of mutants.entries()) {
    const startedAt = performance.now()
    const { verdict, note } = await trial.try(mutant)
    counts[verdict] = (counts[verdict] ?? 0) + 1
    const head = `${i + 1}/${mutants.length} ${verdict}${note === undefined ? '' : ` (${note})`}`
    console.log(`${head}: ${mutant.file}: ${mutant.why} [${secondsSince(startedAt)}]`)
  }
  return counts
}

/** The last line: how often each verdict was given. */
export const summary = (counts) =>
  Object.entries(counts)
    .map(([verdict, count]) => `${count} ${verdict}`)
    .join(', ')

async function main() {
  const args = process.argv.slice(2)
  const filter = args.filter((arg) => arg !== '--list').join(' ')
  const mutants = selectMutants(readLists(), filter)
  if (mutants.length === 0) throw new SetupError(`no file and no reason contains "${filter}"; --list shows all`)
  if (args.includes('--list')) return print(mutants)

  requireNode()
  await ensureInstalled()
  await tryToEnsureSystemPackages()
  const startedAt = performance.now()
  const copy = new SourceCopy()
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, () => {
      copy.remove()
      process.exit(1)
    })
  }
  try {
    const trial = new Trial(copy)
    const tests = [...new Set(mutants.flatMap((mutant) => mutant.tests))]
    say(`test files to run without a mistake first: ${tests.length} …`)
    await trial.prepare(tests)
    const counts = await tryAll(trial, mutants)
    console.log(`${summary(counts)} in ${secondsSince(startedAt)}`)
    process.exitCode = counts.caught === mutants.length ? 0 : 1
  } finally {
    copy.remove()
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) await runMain(main)
