import type { RuleInput } from 'sluice/internal/core/rules/load'
import { RulesError } from 'sluice/internal/core/rules/problems'
import type { RuleFigures } from 'sluice/internal/core/rules/rule-memory'
import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import { LiveRules, type RuleOrigin } from 'sluice/internal/engine/live-rules'
import type { RuleSource } from 'sluice/internal/engine/rule-source'
import { FileSource } from 'sluice/internal/sources/file-source'
import { ThreadLoader } from 'sluice/internal/sources/thread-loader'
import type { FileChange } from '../admin/changes/made-changes.ts'
import type { RemoteSource, SourceFigures } from '../sources/remote-source.ts'
import type { Log } from './log/log.ts'
import { summary } from './plural.ts'
import { compileOptionsOf } from './settings/compatibility.ts'
import type { Config } from './settings/config.ts'

/** The rules of files and of other sources, kept up to date. */
export interface FollowedRules {
  current(): RuleSet
  /** What is in force, as it was read. */
  origin(): RuleOrigin
  /** How often rules came into force, and how often they were refused. */
  counts(): { readonly loads: number; readonly refusals: number }
  /** What became of the rules that were read. */
  state(): RulesState
  /** The last changes of rule files that came into force, the newest first: up to 500, since the start. */
  fileChanges(): readonly FileChange[]
  /** The figures of sources that may be unavailable. */
  sources(): readonly SourceFigures[]
  /** Compiles a text in place of what a source has, together with all else that is in force. It throws a RulesError. */
  check(source: Pick<RuleSource, 'name'>, text: string): Promise<RuleFigures>
  /** Compiles it as `check` does, and returns all rules. */
  compiled(source: Pick<RuleSource, 'name'>, text: string): Promise<RuleSet>
  /** Calls back for every set that comes into force from now on. */
  watch(heard: () => void): void
  /** Reads the files now, and logs the outcome. */
  reload(): Promise<void>
  stop(): void
}

const MAX_FILE_CHANGES = 500

/** When rules came into force and when they were refused, in milliseconds since 1970. */
export interface RulesState {
  /** A hash of what is in force: the same on every node that has the same rules. */
  readonly version: string
  readonly loadedAtMs: number
  /** When rules were last refused for a reason that was new. */
  readonly refusedAtMs: number | undefined
  /** Whether the rules read last are in force. */
  readonly isLastGood: boolean
}

/** What rules are followed with, in addition to files. */
export interface FollowParts {
  /** Called with the origin of every set that comes into force. */
  readonly changed?: ((origin: RuleOrigin) => void) | undefined
  /** Sources at addresses, which count like files. */
  readonly remote?: readonly RemoteSource[]
  /** Sources whose rules are compiled together with the files, and whose changes are logged elsewhere. */
  readonly additional?: readonly RuleSource[]
  /** Ends a start that waits for its rules. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Reads the rule files, and keeps an eye on them from then on. Rules that are wrong at the start are thrown; later ones
 * are logged, and leave the last good ones in force.
 */
export async function followRules(
  config: Pick<Config, 'rules' | 'mergeDomains' | 'compatibility'>,
  log: Log,
  { changed, remote = [], additional = [], signal }: FollowParts = {},
): Promise<FollowedRules> {
  let isStarted = false
  let logged = 0
  let refusal: RulesError | undefined
  let origin: RuleOrigin = { inputs: [] }
  let fileChanges: readonly FileChange[] = []
  let heard = (): void => {}
  const isOfFile = (file: string): boolean => !additional.some(({ name }) => file.startsWith(name))
  let state: Omit<RulesState, 'version'> = { loadedAtMs: 0, refusedAtMs: undefined, isLastGood: false }
  // Workers make their rules of the parts.
  const loader = new ThreadLoader({ keepParts: changed !== undefined })
  const options = compileOptionsOf(config.mergeDomains, config.compatibility)
  const live = new LiveRules(
    { ...options, loader },
    {
      loaded: (rules, from) => {
        logged++
        if (isStarted) log.info('rules.loaded', `rules are in force: ${summary(rules)}`)
        const files = isStarted ? changedFiles(origin.inputs, from.inputs, isOfFile) : []
        if (files.length > 0) fileChanges = [{ atMs: Date.now(), files }, ...fileChanges].slice(0, MAX_FILE_CHANGES)
        origin = from
        state = { ...state, loadedAtMs: Date.now(), isLastGood: true }
        changed?.(from)
        heard()
      },
      refused: (error) => {
        logged++
        refusal = error
        state = { ...state, refusedAtMs: Date.now(), isLastGood: false }
        if (isStarted) logRefusal(log, error)
      },
    },
  )
  const files = config.rules.length === 0 ? [] : [new FileSource(config.rules)]
  const stop = (): void => live.stop()
  signal?.addEventListener('abort', stop)
  if (signal?.aborted || !(await live.follow([...files, ...remote, ...additional]))) {
    live.stop()
    throw refusal ?? new RulesError([])
  }
  signal?.removeEventListener('abort', stop)
  for (const source of remote) source.started()
  isStarted = true
  return {
    current: live.current,
    origin: () => origin,
    counts: () => live.counts,
    fileChanges: () => fileChanges,
    check: async ({ name }, text) => loader.check({ file: name, text }, withoutThose(origin.inputs, name), options),
    compiled: async ({ name }, text) => {
      const { rules } = await loader.load([...withoutThose(origin.inputs, name), { file: name, text }], options)
      return rules
    },
    watch: (listener) => {
      heard = listener
    },
    sources: () => remote.map((source) => source.figures()),
    state: () => ({ version: live.current().version, ...state }),
    reload: async () => {
      const before = logged
      const isGood = await live.readNow()
      // Every request to reload gets a line in the log, whatever the outcome.
      if (logged > before) return
      const result = isGood ? 'nothing changed' : 'still refused, as logged above'
      log.info('rules.read', `rules were read again: ${result}`)
    },
    stop: () => live.stop(),
  }
}

/** Returns inputs without those of a source. */
function withoutThose(inputs: readonly RuleInput[], name: string): readonly RuleInput[] {
  return inputs.filter(({ file }) => !file.startsWith(name))
}

/** Lists the files that have changed, are new, or are gone. */
function changedFiles(
  before: RuleOrigin['inputs'],
  after: RuleOrigin['inputs'],
  isOfFile: (file: string) => boolean,
): readonly string[] {
  const textOf = (input: RuleOrigin['inputs'][number] | undefined) =>
    input && ('text' in input ? input.text : JSON.stringify(input.value))
  const [was, is] = [before, after].map((inputs) => new Map(inputs.map((input) => [input.file, input])))
  const names = [...new Set([...was.keys(), ...is.keys()])].filter(isOfFile)
  return names.filter((file) => textOf(was.get(file)) !== textOf(is.get(file)))
}

function logRefusal(log: Log, { message, errors }: RulesError): void {
  log.error('rules.refused', `rules are refused, the last good ones stay in force:\n${message}`, {
    where: errors.slice(0, 20).map(({ where }) => where),
  })
}
