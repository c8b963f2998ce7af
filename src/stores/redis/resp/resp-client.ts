import { connect as connectTcp, isIP, type Socket, type TcpSocketConnectOpts } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import { type Asker, AskerQueue } from './asker-queue.ts'
import { CommandWriter } from './command-writer.ts'
import { ProtocolError, type Reply, ReplyError } from './reply.ts'
import { ReplyReader } from './reply-reader.ts'
import { Views } from './views.ts'

export type Args = readonly (string | Uint8Array)[]

interface HostPort {
  readonly host: string
  readonly port: number
}

export interface RespClientOptions {
  /** Where the server is: a host and a port, or the path of a socket. */
  readonly at: HostPort | string
  readonly tls: boolean
  /** With TLS: what to trust and to show, where that is not what the machine has. */
  readonly certificates?: Pick<ConnectionOptions, 'ca' | 'cert' | 'key' | 'checkServerIdentity'> | undefined
  readonly username?: string | undefined
  readonly password?: string | undefined
  readonly database?: number
  /** The connection keeps the process alive. Default: true. */
  readonly keepAlive?: boolean
}

const READ_BYTES = 16_384
const CONNECT_TIMEOUT_MS = 1_000
const KEEP_ALIVE_MS = 5_000

/**
 * One connection to one server, over which commands go out in the order they are given, and replies come back in the
 * same order. It does not connect again, queue, or send anything twice. Replies are RESP 2, which every Redis and every
 * fork of it speaks.
 */
export class RespClient {
  readonly #socket: Socket
  readonly #writer = new CommandWriter()
  readonly #reader = new ReplyReader((reply) => this.#take(reply))
  readonly #askers = new AskerQueue()
  readonly #ended: Promise<string>
  #end: (reason: string) => void = () => {}
  readonly #flush = (): void => {
    this.#isFlushing = false
    this.#writeOut()
  }
  #isFlushing = false
  /** With TLS, nothing is written immediately. */
  readonly #isCopying: boolean
  #piecesRead = 0
  #isReady = false
  #isOver = false
  #heard: ((message: string) => void) | undefined

  private constructor(options: RespClientOptions) {
    this.#ended = new Promise((resolve) => {
      this.#end = resolve
    })
    this.#isCopying = options.tls
    const buffer = Buffer.allocUnsafe(READ_BYTES)
    const views = new Views(buffer)
    const read = (piece: Buffer): void => this.#read(piece)
    // A runtime that does not read into the given buffer passes buffers it allocated.
    const callback = (bytes: number): boolean => {
      read(views.of(bytes))
      return true
    }
    this.#socket = dial(options, { buffer, callback })
    this.#socket.on('data', read)
    this.#socket.on('error', (error) => this.#over(error.message))
    this.#socket.on('close', () => this.#over('closed'))
    if (options.keepAlive === false) this.#socket.unref?.()
  }

  /** Connects and logs in within a second, or rejects. `whenMade` receives the client before that, to destroy it. */
  static async open(
    options: RespClientOptions,
    whenMade: (client: RespClient) => void = () => {},
  ): Promise<RespClient> {
    const client = new RespClient(options)
    const late = setTimeout(() => client.destroy('no connection within a second'), CONNECT_TIMEOUT_MS)
    whenMade(client)
    try {
      await client.#logIn(options)
      return client
    } catch (error) {
      client.destroy('no connection')
      throw error
    } finally {
      clearTimeout(late)
    }
  }

  /** True from when the server let us in until the connection ends. */
  get isReady(): boolean {
    return this.#isReady && !this.#isOver
  }

  /** How often something was read: a connection of which this stands still is silent. */
  get piecesRead(): number {
    return this.#piecesRead
  }

  /** Resolves with the reason when the connection has ended. */
  get ended(): Promise<string> {
    return this.#ended
  }

  /**
   * Sends a command at the end of this turn, with all others of the turn: one write to the socket, and one read there.
   * That of a prompt asker is written now, with those before it: the end of a turn is half a kilobyte of garbage of
   * Node.js.
   */
  ask(args: Args, asker: Asker): void {
    if (this.#isOver) {
      asker.failed(new Error('the connection has ended'))
      return
    }
    this.#askers.add(asker)
    this.#writer.write(args)
    if (asker.isPrompt === true) this.#writeOut()
    else if (!this.#isFlushing) {
      this.#isFlushing = true
      process.nextTick(this.#flush)
    }
  }

  call(args: Args): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.ask(args, { answered: resolve, failed: reject })
    })
  }

  /** Makes this a connection that listens, and can do little else. */
  async subscribe(channel: string, heard: (message: string) => void): Promise<void> {
    this.#heard = heard
    await this.call(['SUBSCRIBE', channel])
  }

  /** Ends the connection; what was asked and is not answered fails. */
  destroy(reason = 'closed'): void {
    this.#over(reason)
    this.#socket.destroy()
  }

  async #logIn({ tls, username, password, database = 0 }: RespClientOptions): Promise<void> {
    const steps: Promise<unknown>[] = [this.#connected(tls ? 'secureConnect' : 'connect')]
    if (password !== undefined) steps.push(this.call(['AUTH', ...(username === undefined ? [] : [username]), password]))
    if (database !== 0) steps.push(this.call(['SELECT', String(database)]))
    await Promise.all(steps)
    this.#isReady = true
  }

  async #connected(event: 'connect' | 'secureConnect'): Promise<void> {
    const connected = new Promise<undefined>((resolve) => this.#socket.once(event, () => resolve(undefined)))
    const reason = await Promise.race([connected, this.#ended])
    if (reason !== undefined) throw new Error(reason)
  }

  /**
   * Writes what was asked. What leaves immediately need not be copied: a socket that holds nothing has handed it on.
   */
  #writeOut(): void {
    if (this.#isOver || this.#writer.length === 0) return
    if (this.#isCopying || this.#socket.writableLength > 0) {
      this.#socket.write(this.#writer.take())
      return
    }
    this.#socket.write(this.#writer.lend())
    this.#writer.giveBack(this.#socket.writableLength === 0)
  }

  #read(piece: Buffer): void {
    this.#piecesRead++
    try {
      this.#reader.read(piece)
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      this.destroy(error.message)
    }
  }

  #take(reply: Reply): void {
    if (this.#heard !== undefined && Array.isArray(reply) && String(reply[0]) === 'message') {
      this.#heard(String(reply[2]))
      return
    }
    const asker = this.#askers.next()
    if (asker === undefined) throw new ProtocolError('unexpected reply without a request')
    if (reply instanceof ReplyError) asker.failed(reply)
    else asker.answered(reply)
  }

  #over(reason: string): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#end(reason)
    for (let asker = this.#askers.next(); asker !== undefined; asker = this.#askers.next())
      asker.failed(new Error(reason))
  }
}

type Reading = Exclude<TcpSocketConnectOpts['onread'], undefined>

function dial({ at, tls, certificates }: RespClientOptions, onread: Reading): Socket {
  if (typeof at === 'string') return connectTcp({ path: at, onread })
  const where = { host: at.host, port: at.port, onread, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS }
  if (!tls) return connectTcp(where).setNoDelay(true)
  // Loaded only when needed: it costs a process 3 MB.
  const { connect: connectTls } = process.getBuiltinModule('node:tls')
  return connectTls({ ...where, ...nameOf(at), ...certificates }).setNoDelay(true)
}

/**
 * Returns what the server is called in the handshake, so that one that has several certificates shows the right one.
 */
function nameOf({ host }: HostPort): { servername?: string } {
  return isIP(host) === 0 ? { servername: host } : {}
}
