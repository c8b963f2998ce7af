import type { Notice, NoticeListener } from '../../engine/ports.ts'

/** Forwards notices to the listeners in this process. */
export class NoticeBoard {
  readonly #listeners = new Set<NoticeListener>()
  #isConnected: boolean

  constructor(isConnected: boolean) {
    this.#isConnected = isConnected
  }

  notify(notice: Notice): void {
    for (const listener of this.#listeners) listener.noticed(notice)
  }

  setConnected(isConnected: boolean): void {
    if (isConnected === this.#isConnected) return
    this.#isConnected = isConnected
    for (const listener of this.#listeners) listener.connected(isConnected)
  }

  listen(listener: NoticeListener): () => void {
    this.#listeners.add(listener)
    listener.connected(this.#isConnected)
    return () => {
      this.#listeners.delete(listener)
    }
  }
}
