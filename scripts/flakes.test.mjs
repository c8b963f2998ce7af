import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { reapAtExit } from '../tests/servers/reaper.mjs'
import { until } from '../tests/servers/until.mjs'
import { flakes, readArguments, summary } from './flakes.mjs'
import { firstLine } from './flakes-reporter.mjs'
import { cpuSeconds, judgeRound, readReport } from './flakes-round.mjs'
import { findCommand } from './system-packages.mjs'
import { makeTree } from './temporary-tree.mjs'

const configOf = (more) => `export default { test: { globals: true, include: ["*.test.mjs"]${more} } }`
const CONFIG = configOf('')

/** The least work of a round: no process for each file. */
const LIGHT = { 'vitest.config.mjs': configOf(', pool: "threads", maxWorkers: 1, isolate: false') }

/** The beginning of a test file that knows which run of it this is, from 1. */
const COUNTED = `
  import { appendFileSync, readFileSync } from 'node:fs'
  appendFileSync('runs', '.')
  const run = readFileSync('runs', 'utf8').length
`

/** A function of a test file that waits until its own run has reported a text: reports come in batches. */
const REPORTED = `
  const reported = async (text) => {
    const { existsSync, readFileSync } = await import('node:fs')
    const path = process.env.FLAKES_REPORT
    const isThere = () => existsSync(path) && readFileSync(path, 'utf8').includes(text)
    while (!isThere()) await new Promise((r) => setTimeout(r, 10))
  }
`

const suite = (files) => makeTree({ 'vitest.config.mjs': CONFIG, ...files })

/** Kills what a round in a suite has left behind. It has named its processes in a file, if it came so far. */
function end(dir) {
  const path = join(dir, 'pids')
  const pids = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : []
  for (const pid of pids.filter(isRunning)) process.kill(pid, 'SIGKILL')
}

/** Runs rounds on a separate suite, and returns what was printed and whether all passed. */
async function found(dir, ...args) {
  const lines = []
  const isGood = await flakes(args, { dir, print: (line) => lines.push(line) })
  return { isGood, printed: lines.join('\n') }
}

describe('rounds', () => {
  test('find what fails, how often, and outside of a test too; only in the files of the paths', async () => {
    const flaky = `${COUNTED}
      describe('a count', () => {
        test('is odd | not even', () => {
          if (run % 2 === 0) throw new TypeError('run ' + run + '\\nis even')
        })
        test('is a number', () => {})
      })`
    const dir = suite({
      ...LIGHT,
      'a-flaky.test.mjs': flaky,
      'a-steady.test.mjs': 'test("passes", () => {})',
      'a-hook.test.mjs':
        'describe("a group", () => { beforeAll(() => { throw new Error("no server") }); test("a", () => {}) })',
      'a-load.test.mjs': 'throw new Error("does not load")',
      'a-late.test.mjs':
        'test("passes", async () => { Promise.reject(new Error("for no one")); await new Promise((r) => setTimeout(r, 50)) })',
      'bad.test.mjs': 'test("fails", () => { throw 1 })',
    })
    const { isGood, printed } = await found(dir, '--rounds', '2', '--only', 'quiet', 'a-')
    expect(isGood).toBe(false)
    expect(printed).toContain('\nround 1/2 quiet: 4 passed, 3 failed, ')
    expect(printed).toContain('\nround 2/2 quiet: 3 passed, 4 failed, ')
    expect(printed).toContain(
      '| `a-flaky.test.mjs > a count > is odd \\| not even` | quiet | 1 of 2 | TypeError: run 2 |\n',
    )
    expect(printed).toContain('| `a-hook.test.mjs > a group` | quiet | 2 of 2 | Error: no server |')
    expect(printed).toContain('| `a-load.test.mjs` | quiet | 2 of 2 | Error: does not load |')
    expect(printed).toContain('| `outside of a test` | quiet | 2 of 2 | Error: for no one |')
    expect(printed).not.toContain('bad.test.mjs')
    expect(printed).toMatch(/\| quiet \| 2 \| 2 \| \d+\.\d \| \d+\.\d \|$/)
  })

  test('that die are failures, and name the files that were running', async () => {
    const dies = `${COUNTED} ${REPORTED}
      test('lives', async () => {
        if (run !== 1) return
        await reported('"started":"dies.test.mjs"')
        process.kill(process.ppid, 'SIGKILL')
        await new Promise(() => {})
      }, 0)`
    const { isGood, printed } = await found(suite({ 'dies.test.mjs': dies }), '--rounds', '2', '--only', 'quiet')
    expect(isGood).toBe(false)
    expect(printed).toContain(
      '| `the round itself` | quiet | 1 of 2 | it ended with code 137 without a result; running were dies.test.mjs |',
    )
    expect(printed).toContain('\nround 2/2 quiet: 1 passed, 0 failed, ')
  })

  test('in which no test runs are failures', async () => {
    const { isGood, printed } = await found(suite(LIGHT), '--rounds', '1', 'nowhere')
    expect({ isGood, printed }).toMatchObject({ isGood: false, printed: expect.stringContaining('no test ran') })
  })

  test('end when their time is up, with what is known', async () => {
    const hangs = `
      import { writeFileSync } from 'node:fs'
      writeFileSync('pids', JSON.stringify([process.pid, process.ppid]))
      test('hangs', () => new Promise(() => {}), 0)`
    const dir = suite({ 'hangs.test.mjs': hangs })
    onTestFinished(() => end(dir))
    const { isGood, printed } = await found(dir, '--rounds', '9', '--minutes', '0.05')
    expect(isGood).toBe(false)
    expect(printed).toMatch(/round 1\/9 quiet: .+, stopped by the time being up/)
    expect(printed).not.toContain('round 2/9')
  })
})

const SEES = `
  import { spawnSync } from 'node:child_process'
  import { appendFileSync, readdirSync, readFileSync } from 'node:fs'
  import { availableParallelism } from 'node:os'
  const child = spawnSync(process.execPath, ['-p', 'setTimeout.toString().includes("late(")'], { encoding: 'utf8' })
  const spinning = () => {
    try {
      return readdirSync('/proc').filter((pid) => {
        try {
          const isOurs = readFileSync('/proc/' + pid + '/stat', 'utf8').split(') ')[1].split(' ')[1] === process.env.FLAKES_TESTER
          return isOurs && readFileSync('/proc/' + pid + '/cmdline', 'utf8').includes('busy-core.mjs')
        } catch {
          return false
        }
      }).length
    } catch {
      return 0
    }
  }
  test('looks', () => {
    const isSlow = setTimeout.toString().includes('late(')
    appendFileSync('seen', JSON.stringify({ cores: availableParallelism(), isSlow, child: child.stdout.trim(), spinning: spinning() }) + '\\n')
  })`

describe.skipIf(process.platform !== 'linux' || findCommand('taskset') === undefined)('the conditions', () => {
  test('take turns, and reach tests and the processes that they start', async () => {
    const { availableParallelism } = await import('node:os')
    const cores = availableParallelism()
    const dir = suite({ 'sees.test.mjs': SEES })
    process.env.FLAKES_TESTER = String(process.pid)
    const isSlow = setTimeout.toString().includes('late(')
    const { isGood, printed } = await found(
      dir,
      '--rounds',
      '4',
      '--seed',
      '7',
      '--only',
      'quiet,busy,one-core,slow-timers',
    )
    delete process.env.FLAKES_TESTER
    expect({ isGood, printed }).toMatchObject({ isGood: true, printed: expect.stringContaining('\nnothing failed\n') })
    expect(printed.match(/round \d\/4 [\w-]+/g)).toEqual(
      ['quiet', 'busy', 'one-core', 'slow-timers'].map((name, i) => `round ${i + 1}/4 ${name}`),
    )
    const quiet = { cores, isSlow, child: String(isSlow), spinning: 0 }
    const seen = readFileSync(join(dir, 'seen'), 'utf8').trim().split('\n').map(JSON.parse)
    expect(seen).toEqual([
      quiet,
      { ...quiet, spinning: cores },
      { ...quiet, cores: 1 },
      { ...quiet, isSlow: true, child: 'true' },
    ])
  })
})

const isRunning = (pid) => {
  try {
    // A process that nothing reaps is not running.
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1][0] !== 'Z'
  } catch {
    return existsSync('/proc/self') ? false : canBeSignalled(pid)
  }
}

const canBeSignalled = (pid) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Starts a module of this folder or a text of code, and ends it with the test. */
function program(...args) {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  reapAtExit(child)
  let printed = ''
  child.stdout.on('data', (chunk) => {
    printed += chunk
  })
  return { child, printed: () => printed }
}

test.each(['SIGINT', 'SIGTERM'])('%s ends all that a round has started, and prints what is known', async (signal) => {
  const dir = suite({
    // A file that ends is reported then. What a test reports while its file still runs, vitest may keep until the next
    // report.
    'vitest.config.mjs': 'export default { test: { globals: true, include: ["*.test.mjs"], maxWorkers: 2 } }',
    'fails.test.mjs': 'test("fails", () => { throw new Error("before") })',
    'hangs.test.mjs': `
      import { spawn } from 'node:child_process'
      import { renameSync, writeFileSync } from 'node:fs'
      test('hangs', async () => {
        const service = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
        writeFileSync('pids.part', JSON.stringify([process.pid, process.ppid, service.pid]))
        renameSync('pids.part', 'pids')
        await new Promise(() => {})
      }, 0)`,
  })
  onTestFinished(() => end(dir))
  const code = `
    import { flakes, stopOnSignals } from ${JSON.stringify(new URL('./flakes.mjs', import.meta.url).href)}
    process.exitCode = (await flakes(['--only', 'busy'], { dir: ${JSON.stringify(dir)}, stopping: stopOnSignals() })) ? 0 : 1
  `
  const { child, printed } = program('--input-type=module', '-e', code)
  const pids = await until('the round hangs', () => JSON.parse(readFileSync(join(dir, 'pids'), 'utf8')))
  const report = join(dir, 'node_modules', '.cache', 'flakes', '1-busy.jsonl')
  await until('it is reported what failed, and what hangs', () => {
    const text = readFileSync(report, 'utf8')
    return text.includes('"failed"') && text.includes('"started":"hangs.test.mjs"')
  })
  const exited = once(child, 'exit')
  child.kill(signal)
  expect(await exited).toEqual([1, null])
  await until('all have ended', () => !pids.some(isRunning))
  expect(printed()).toContain('stopped by a signal\n')
  expect(printed()).toContain('running were hangs.test.mjs')
  expect(printed()).toContain('| `fails.test.mjs > fails` | busy | 1 of 1 | Error: before |')
})

test('a process that keeps a core busy ends with the process that started it, however that ends', async () => {
  const code = `
    const { spawn } = require('node:child_process')
    const path = ${JSON.stringify(fileURLToPath(new URL('./busy-core.mjs', import.meta.url)))}
    console.log(spawn(process.execPath, [path], { stdio: ['pipe', 'ignore', 'ignore'] }).pid)
    setInterval(() => {}, 1000)
  `
  const { child, printed } = program('-e', code)
  const pid = Number(await until('it runs', () => printed().trim()))
  expect(isRunning(pid)).toBe(true)
  child.kill('SIGKILL')
  await until('it has ended', () => !isRunning(pid))
})

describe('the command line', () => {
  const read = (...args) => readArguments(args, () => true)

  test('asks for six rounds of every condition and all tests, if it asks for nothing', () => {
    expect(read()).toMatchObject({
      rounds: 6,
      minutes: Number.POSITIVE_INFINITY,
      conditions: ['quiet', 'busy', 'one-core', 'slow-timers'],
      paths: [],
    })
  })

  test('asks for less', () => {
    const asked = read('tests/cli', '--rounds', '20', '--only=busy,quiet', '--minutes', '1.5', '--seed', '7', 'src')
    expect(asked).toMatchObject({
      rounds: 20,
      minutes: 1.5,
      seed: 7,
      conditions: ['busy', 'quiet'],
      paths: ['tests/cli', 'src'],
    })
  })

  test.each([
    [['--rounds', '0'], '--rounds is a number above 0; got "0"'],
    [['--rounds', '1.5'], '--rounds is a number above 0; got "1.5"'],
    [['--minutes', '0.0'], '--minutes is a number above 0; got "0.0"'],
    [['--minutes', 'ten'], '--minutes is a number above 0; got "ten"'],
    [['--only', 'quiet,slow'], '"slow" is no condition; --only takes quiet,busy,one-core,slow-timers'],
    [['--only', 'constructor'], '"constructor" is no condition'],
    [['--repeat', '3'], 'there are --rounds, --only, --minutes, --seed and paths of tests'],
  ])('that cannot be read is refused: %j', (args, message) => {
    expect(() => read(...args)).toThrow(message)
  })

  test('leaves out what the machine cannot do, unless it asks for that', () => {
    const on = (...args) => readArguments(args, () => false)
    expect(on()).toMatchObject({ conditions: ['quiet', 'busy', 'slow-timers'], missing: ['one-core'] })
    expect(() => on('--only', 'one-core,quiet')).toThrow('one-core needs taskset')
  })
})

describe('a round', () => {
  const ended = { code: 0, signal: null }
  const report = (...entries) => readReport(entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''))
  const counts = { passed: 1, failed: 0, skipped: 0 }

  test('is good when it has counts and says nothing else', () => {
    expect(judgeRound(report({ started: 'a' }, { done: 'a' }, { ended: counts }), ended)).toEqual([])
  })

  test('that ends with another code has failed, also where no test did', () => {
    expect(judgeRound(report({ ended: counts }), { code: 1, signal: null })).toEqual([
      { test: 'the round itself', error: 'it ended with code 1' },
    ])
  })

  test('that died after its last test says so', () => {
    expect(judgeRound(report({ started: 'a' }, { done: 'a' }), { code: null, signal: 'SIGKILL' })).toEqual([
      { test: 'the round itself', error: 'it ended by SIGKILL without a result' },
    ])
  })

  test('that died while it wrote keeps what it has written', () => {
    const { failures } = readReport('{"failed":{"test":"a","error":"b"}}\n{"ended":{"pas')
    expect(failures).toEqual([{ test: 'a', error: 'b' }])
  })

  test('counts a test once that fails twice', () => {
    const twice = [1, 2].map((count) => ({ test: 'a', error: `Error: ${count}` }))
    const printed = summary([{ condition: 'quiet', failures: twice, seconds: 1, cpu: 2 }])
    expect(printed).toContain('| `a` | quiet | 1 of 1 | Error: 1 |')
  })
})

test.each([
  ['0m0.00s 0m0.01s\n1m2.50s 0m3.25s\n', 65.75],
  ['0m0.000000s 0m0.000000s\n0m0.020000s 0m0.010000s\n', 0.03],
  ['', undefined],
])('processor time is read from what a shell prints: %j', (printed, seconds) => {
  expect(cpuSeconds(printed)).toBe(seconds)
})

test.each([
  [{ name: 'AssertionError', message: 'expected 1 to be 2\n\n- 1' }, 'AssertionError: expected 1 to be 2'],
  [{ name: 'Error', message: '\n \u001B[31mred\u001B[39m' }, 'Error: red'],
  [{ message: 'Error: is named' }, 'Error: is named'],
  [{}, 'Error: '],
])('the first line of an error is that of its message: %j', (error, line) => {
  expect(firstLine(error)).toBe(line)
})
