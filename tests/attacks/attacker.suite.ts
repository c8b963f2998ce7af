import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { ACK, answersOf, call, cut, type Frame, frame, PREFACE, settings, Type } from '../grpc/wire.ts'
import { until } from '../servers/until.mjs'

/** A server that is buried in frames, on a machine that is busy, takes its time. */
const READ_WITHIN_MS = 50_000

/** An Attacker is a client on a real socket that sends what it likes, and keeps what comes back. */
export class Attacker {
  readonly #socket: Socket
  #rest: Buffer = Buffer.alloc(0)
  #pings = 0
  #answeredPings = 0
  readonly frames: Frame[] = []
  isClosed = false

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (chunk) => {
      const { frames, rest } = cut(Buffer.concat([this.#rest, chunk]))
      for (const each of frames) {
        if (each.type === Type.PING && (each.flags & ACK) !== 0) this.#answeredPings++
        else this.frames.push(each)
      }
      this.#rest = rest
    })
    // A server that hangs up is what these tests hope for.
    socket.on('error', () => {})
    socket.on('close', () => {
      this.isClosed = true
    })
  }

  /** Opens a connection from an address of loopback, of which there are many, and sends nothing. */
  static async connect(address: string, localAddress = '127.0.0.1'): Promise<Attacker> {
    const [host, port] = address.split(':')
    const socket = connect({ host, port: Number(port), localAddress })
    const attacker = new Attacker(socket)
    await once(socket, 'connect')
    return attacker
  }

  /** begin is connect and the preface, with settings. */
  static async begin(address: string, ...pairs: (readonly [id: number, value: number])[]): Promise<Attacker> {
    const attacker = await Attacker.connect(address)
    attacker.send(PREFACE, settings(...pairs))
    return attacker
  }

  send(...frames: readonly Buffer[]): void {
    if (!this.#socket.writableEnded && !this.#socket.destroyed) this.#socket.write(Buffer.concat(frames))
  }

  /** Resolves when the server has read all that was sent: it has answered a PING behind it, or hung up. */
  async read(): Promise<void> {
    const before = this.#pings++
    this.send(frame(Type.PING, 0, 0, Buffer.alloc(8)))
    const isRead = (): boolean => this.isClosed || this.goaway !== undefined || this.#answeredPings > before
    await until('all is read', isRead, READ_WITHIN_MS)
  }

  /** The error code of the last GOAWAY. */
  get goaway(): number | undefined {
    return this.frames.findLast(({ type }) => type === Type.GOAWAY)?.payload.readUInt32BE(4)
  }

  /** Counts the answers by their grpc-status; what has no trailers yet does not count. */
  get statuses(): Record<string, number> {
    const counts: Record<string, number> = {}
    for (const { trailers } of answersOf(this.frames).values()) {
      const status = trailers.find((field) => field.startsWith('grpc-status: '))?.slice('grpc-status: '.length)
      if (status !== undefined) counts[status] = (counts[status] ?? 0) + 1
    }
    return counts
  }

  leave(): void {
    this.#socket.destroy()
  }
}

/** A Bystander is a proper client beside an attacker, on a connection of its own. */
export class Bystander {
  readonly #client: Attacker
  readonly #path: string
  #stream = -1

  private constructor(client: Attacker, path: string) {
    this.#client = client
    this.#path = path
  }

  static async connect(address: string, path: string): Promise<Bystander> {
    return new Bystander(await Attacker.begin(address), path)
  }

  get isClosed(): boolean {
    return this.#client.isClosed
  }

  /** Makes one call and resolves with its grpc-status, when it is answered. */
  async call(message: Uint8Array = Buffer.alloc(0)): Promise<string> {
    this.#stream += 2
    const stream = this.#stream
    this.#client.send(call(stream, this.#path, message))
    const isLast = (each: Frame): boolean =>
      each.stream === stream && (each.flags & 1) !== 0 && (each.type === Type.HEADERS || each.type === Type.DATA)
    await until('the call is answered', () => this.#client.frames.some(isLast))
    const trailers = answersOf(this.#client.frames).get(stream)?.trailers ?? []
    return trailers.find((field) => field.startsWith('grpc-status'))?.slice(13) ?? ''
  }

  leave(): void {
    this.#client.leave()
  }
}

/** The number of the i-th stream of a client. */
export const odd = (i: number): number => 2 * i + 1
