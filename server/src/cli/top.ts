import { got, SluiceError } from 'sluice/internal/core/errors'
import { parseFlags } from '../app/settings/flags.ts'
import { choiceOf, durationOf, type Given } from '../app/settings/setting-values.ts'
import { adminAddress, DEFAULT_ADMIN } from './admin/admin-address.ts'
import { AdminClient, type Asked } from './top/admin-client.ts'
import { Terminal } from './top/terminal.ts'
import { drawScreen } from './top/top-screen.ts'
import { type Sample, type TopView, viewOf } from './top/top-view.ts'

const FLAGS = [
  { flag: 'admin', value: 'URL' },
  { flag: 'token', value: 'TOKEN' },
  { flag: 'by', value: 'RANKING' },
  { flag: 'minutes', value: 'N' },
  { flag: 'scope', value: 'SCOPE' },
  { flag: 'interval', value: 'DURATION' },
  { flag: 'json' },
  { flag: 'once' },
] as const

const MIN_INTERVAL_MS = 100

interface Options {
  readonly admin: URL
  readonly token: string | undefined
  readonly asked: Asked
  readonly intervalMs: number
  readonly isJson: boolean
  readonly isOnce: boolean
}

/** Shows what a service is doing, again and again: on a terminal in place, elsewhere one view after the other. */
export async function top(args: readonly string[]): Promise<void> {
  const options = optionsOf(args)
  const watch = new Watch(options)
  if (options.isOnce) return printOnce(watch, options)
  const isTerminal = process.stdout.isTTY === true && process.env.TERM !== 'dumb' && !options.isJson
  await (isTerminal ? showOn(watch, options) : printAll(watch, options))
}

function optionsOf(args: readonly string[]): Options {
  const flags = parseFlags('top', FLAGS, args)
  if (flags.rest.length > 0) throw new SluiceError('FLAG_UNKNOWN', 'top', got(flags.rest[0]))
  const given = (flag: string, otherwise: string): Given => {
    return { values: [flags.last(flag) ?? otherwise], where: `--${flag}`, source: 'flag' }
  }
  return {
    admin: adminAddress(flags.last('admin') ?? DEFAULT_ADMIN),
    token: flags.last('token') ?? (process.env.SLUICE_ADMIN_TOKEN || undefined),
    asked: {
      by: choiceOf(given('by', 'refused'), ['refused', 'active']),
      minutes: Number(choiceOf(given('minutes', '5'), ['1', '5', '60', '1440'])) as Asked['minutes'],
      scope: choiceOf(given('scope', 'node'), ['node', 'fleet']),
    },
    intervalMs: Math.max(MIN_INTERVAL_MS, durationOf(given('interval', '1s'))),
    isJson: flags.isOn('json'),
    isOnce: flags.isOn('once'),
  }
}

/** Asks an admin port, and makes views of what it answers. */
class Watch {
  readonly #client: AdminClient
  readonly admin: string
  asked: Asked
  view: TopView | undefined
  trouble: string | undefined
  #last: Sample | undefined

  constructor({ admin, token, asked }: Options) {
    this.#client = new AdminClient(admin, token)
    this.admin = admin.href.replace(/\/$/, '')
    this.asked = asked
  }

  /** Asks once. The first answer makes no view: there is nothing to compare it with. */
  async look(): Promise<void> {
    try {
      const sample = await this.#client.sample(this.asked)
      if (this.#last !== undefined) this.view = viewOf(this.admin, this.#last, sample)
      this.#last = sample
      this.trouble = undefined
    } catch (error) {
      this.trouble = (error as Error).message
    }
  }
}

async function printOnce(watch: Watch, { intervalMs, isJson }: Options): Promise<void> {
  await watch.look()
  if (watch.trouble === undefined) {
    await waited(intervalMs)
    await watch.look()
  }
  const { view, trouble, admin } = watch
  if (view === undefined || trouble !== undefined) {
    throw new SluiceError('ADMIN_UNREACHABLE', admin, trouble ?? 'no answer')
  }
  print(isJson ? JSON.stringify(view) : plainScreen(watch))
}

/** Prints views one after the other, until the output is closed. */
async function printAll(watch: Watch, { intervalMs, isJson }: Options): Promise<never> {
  process.stdout.on('error', () => process.exit(0))
  await watch.look()
  for (;;) {
    if (watch.trouble !== undefined) {
      print(isJson ? JSON.stringify({ admin: watch.admin, error: watch.trouble }) : troubleOf(watch))
    } else if (watch.view !== undefined) print(isJson ? JSON.stringify(watch.view) : `${plainScreen(watch)}\n`)
    await waited(intervalMs)
    await watch.look()
  }
}

/** Shows views in place, until q or Ctrl-C is pressed. However it ends, the terminal is given back. */
async function showOn(watch: Watch, { intervalMs }: Options): Promise<void> {
  let isOver = false
  let wake = (): void => {}
  const again = (asked: Partial<Asked>): void => {
    watch.asked = { ...watch.asked, ...asked }
    wake()
  }
  const end = (): void => {
    isOver = true
    wake()
  }
  const keys: Readonly<Record<string, () => void>> = {
    q: end,
    Q: end,
    '\u0003': end,
    r: () => again({ by: 'refused' }),
    a: () => again({ by: 'active' }),
    '1': () => again({ minutes: 1 }),
    '5': () => again({ minutes: 5 }),
    '6': () => again({ minutes: 60 }),
  }
  const terminal = new Terminal(process.stdout, process.stdin, (key) => keys[key]?.())
  const draw = (): void => {
    // A terminal that does not know its size says 0.
    const [columns, rows] = [process.stdout.columns || 80, process.stdout.rows || 24]
    const trouble = watch.trouble === undefined ? undefined : `${troubleOf(watch)}; trying again`
    terminal.draw(
      drawScreen(
        { admin: watch.admin, view: watch.view, trouble },
        { columns, rows, hasColour: !process.env.NO_COLOR },
      ),
    )
  }
  process.on('exit', () => terminal.close())
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, end)
  process.stdout.on('resize', draw)
  terminal.open()
  try {
    while (!isOver) {
      await watch.look()
      draw()
      if (!isOver) await waited(intervalMs, (now) => (wake = now))
    }
  } finally {
    terminal.close()
  }
}

function troubleOf({ admin, trouble }: Watch): string {
  return `${admin}: ${trouble}`
}

function plainScreen(watch: Watch): string {
  const [columns, rows] = [process.stdout.columns || 80, process.stdout.rows || 40]
  const lines = drawScreen(
    { ...watch, admin: watch.admin, view: watch.view, trouble: undefined },
    { columns, rows, hasColour: false },
  )
  return lines
    .slice(0, -1)
    .map((line) => line.trimEnd())
    .join('\n')
    .trimEnd()
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

/** Resolves after a while, or when it is woken. */
function waited(ms: number, wakeable: (wake: () => void) => void = () => {}): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    wakeable(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}
