import { StoreFault } from '../../engine/store-fault.ts'
import type { CasEngine, CasResult, CasWrite, Stored, TimeSample } from './cas-engine.ts'

/** What goes wrong in a call. */
export interface EngineFaults {
  /** Another process writes the counter just before: a conflict. */
  readonly conflicts?: () => boolean
  /** A write is made, and its answer is lost. */
  readonly losesAnswers?: () => boolean
  /** Calls take some turns of the event loop. */
  readonly delays?: () => number
}

/** The smallest engine there is: a Map, with faults on demand. */
export class MapEngine implements CasEngine {
  readonly name = 'map'
  readonly isAtomic: boolean
  readonly maxNames: number
  readonly rows = new Map<string, Stored>()
  readonly calls: { readonly kind: 'read' | 'write'; readonly names: readonly string[] }[] = []
  faults: EngineFaults
  nowMs = 1_780_000_020_000
  /** Called before a write takes place; it may throw. */
  beforeWrite: (writes: readonly CasWrite[]) => void | Promise<void> = () => {}
  beforeRead: (names: readonly string[]) => void | Promise<void> = () => {}
  #touched = 0

  constructor({ isAtomic = true, maxNames = 1_000, ...faults }: EngineFaults & Partial<MapEngine> = {}) {
    this.isAtomic = isAtomic
    this.maxNames = maxNames
    this.faults = faults
  }

  async read(names: readonly string[]): Promise<readonly (Stored | undefined)[]> {
    this.calls.push({ kind: 'read', names })
    await this.#pass()
    await this.beforeRead(names)
    return names.map((name) => this.rows.get(name))
  }

  async write(writes: readonly CasWrite[]): Promise<readonly CasResult[]> {
    this.calls.push({ kind: 'write', names: writes.map(({ name }) => name) })
    await this.#pass()
    await this.beforeWrite(writes)
    for (const { name } of writes) if (this.faults.conflicts?.()) this.touch(name)
    const results = this.apply(writes)
    if (this.faults.losesAnswers?.()) throw new StoreFault('broken', this.name, 'the answer was lost')
    return results
  }

  /** Makes writes, as an engine that knows groups does, or one by one. */
  apply(writes: readonly CasWrite[]): readonly CasResult[] {
    const isUnchanged = ({ name, base }: CasWrite): boolean => this.rows.get(name)?.version === base
    const failed = new Set(writes.filter((write) => !isUnchanged(write)).map(({ group }) => group))
    return writes.map((write): CasResult => {
      if (this.isAtomic ? failed.has(write.group) : !isUnchanged(write)) return { isWritten: false }
      this.rows.set(write.name, { text: write.text, version: write.version })
      return { isWritten: true, version: write.version }
    })
  }

  /** Writes what is there again, as another process would. */
  touch(name: string): void {
    const stored = this.rows.get(name)
    if (stored !== undefined) this.rows.set(name, { ...stored, version: `touched ${++this.#touched}` })
  }

  async expire(): Promise<boolean> {
    return false
  }

  async time(): Promise<TimeSample> {
    return { ms: this.nowMs, withinMs: 1 }
  }

  async close(): Promise<void> {}

  async #pass(): Promise<void> {
    for (let turns = this.faults.delays?.() ?? 0; turns > 0; turns--) await new Promise((next) => setImmediate(next))
  }
}

/** An empty part of an engine: names get a prefix that no other part has. */
export function partOf(engine: CasEngine, prefix: string): CasEngine {
  return {
    name: engine.name,
    isAtomic: engine.isAtomic,
    maxNames: engine.maxNames,
    read: (names) => engine.read(names.map((name) => prefix + name)),
    write: (writes) => engine.write(writes.map((write) => ({ ...write, name: prefix + write.name }))),
    expire: () => engine.expire(),
    time: () => engine.time(),
    close: async () => {},
  }
}
