import type { RuleReceiver, RuleSource } from '../engine/rule-source.ts'
import { RuleWatcher } from './rule-watcher.ts'

/** Delivers the rules of files and directories, and looks after them from then on. */
export class FileSource implements RuleSource {
  readonly name: string
  readonly #paths: readonly string[]
  #watcher: RuleWatcher | undefined

  constructor(paths: readonly string[]) {
    this.name = paths.join(', ')
    this.#paths = paths
  }

  start(receiver: RuleReceiver): Promise<boolean> {
    this.#watcher?.stop()
    this.#watcher = new RuleWatcher(this.#paths, receiver)
    return this.#watcher.start()
  }

  async readNow(): Promise<boolean> {
    return (await this.#watcher?.reload()) ?? false
  }

  stop(): void {
    this.#watcher?.stop()
  }
}
