/** Receives what is sent on a channel. */
export interface Listener {
  heard(payload: string): void
  missed(): void
}

/** The listeners of a database, by channel. An error that one of them throws is ignored. */
export class Listeners {
  readonly #byChannel = new Map<string, Set<Listener>>()

  get channels(): readonly string[] {
    return [...this.#byChannel.keys()]
  }

  has(channel: string): boolean {
    return this.#byChannel.has(channel)
  }

  add(channel: string, listener: Listener): void {
    const known = this.#byChannel.get(channel) ?? new Set()
    this.#byChannel.set(channel, known.add(listener))
  }

  remove(channel: string, listener: Listener): void {
    const known = this.#byChannel.get(channel)
    known?.delete(listener)
    if (known?.size === 0) this.#byChannel.delete(channel)
  }

  heard(channel: string, payload: string): void {
    for (const listener of [...(this.#byChannel.get(channel) ?? [])]) quietly(() => listener.heard(payload))
  }

  /** Notifies the listeners of a channel, or all, that they may have missed something. */
  missed(channel?: string): void {
    const channels = channel === undefined ? this.channels : [channel]
    const all = channels.flatMap((each) => [...(this.#byChannel.get(each) ?? [])])
    for (const listener of all) quietly(() => listener.missed())
  }
}

function quietly(call: () => void): void {
  try {
    call()
  } catch {}
}

/** Quotes a channel for LISTEN, which takes no parameters. */
export function quotedChannel(channel: string): string {
  if (!/^[a-z][a-z_]{0,40}$/.test(channel)) throw new TypeError(`no name of a channel: ${channel}`)
  return `"${channel}"`
}
