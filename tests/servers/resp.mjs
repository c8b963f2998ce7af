// @ts-check
import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { connect as connectTls } from 'node:tls'

/** @typedef {string | number | null | RespError | Reply[]} Reply what Redis answers, as RESP version 2 has it */

/**
 * @typedef {object} RespAddress
 * @property {number} [port]
 * @property {string} [socketPath] a Unix socket, instead of the port
 * @property {{ ca: string, cert?: string, key?: string }} [tls]
 * @property {string} [username]
 * @property {string} [password]
 */

/** An error that Redis answered; the message is its text, such as `ASK 7 127.0.0.1:7001`. */
export class RespError extends Error {}

/**
 * Opens a connection, with TLS and AUTH as the address asks for. This is a client for tests: it shows what Redis really
 * says, follows nothing and repeats nothing.
 * @param {RespAddress} address
 */
export async function connectResp({ port, socketPath, tls, username, password }) {
  const target = socketPath === undefined ? { host: '127.0.0.1', port: port ?? 0 } : { path: socketPath }
  const socket = tls === undefined ? connectTcp(target) : connectTls({ ...target, ...tls })
  const connection = new RespConnection(socket)
  await once(socket, tls === undefined ? 'connect' : 'secureConnect')
  const credentials = [username, password].filter((each) => each !== undefined)
  if (credentials.length > 0) await connection.send('AUTH', ...credentials)
  return connection
}

/** Sends commands and resolves with their replies, in order. */
export class RespConnection {
  #socket
  #received = Buffer.alloc(0)
  /** @type {{ resolve: (reply: Reply) => void, reject: (error: Error) => void }[]} */
  #waiting = []

  /** @param {import('node:net').Socket} socket */
  constructor(socket) {
    this.#socket = socket
    socket.setNoDelay(true)
    socket.on('data', (chunk) => this.#take(chunk))
    socket.on('error', (error) => this.#fail(error))
    socket.on('close', () => this.#fail(new Error('the connection is closed')))
  }

  /** isOpen is false once either side has closed the connection. */
  get isOpen() {
    return !this.#socket.destroyed && this.#socket.readyState === 'open'
  }

  /**
   * Rejects with a RespError when Redis answers with an error, and with another error when the connection ends.
   * @param {...(string | number | Buffer)} args
   * @returns {Promise<Reply>}
   */
  send(...args) {
    if (!this.isOpen) return Promise.reject(new Error('the connection is closed'))
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject })
      this.#socket.write(encodeCommand(args))
    })
  }

  close() {
    this.#socket.destroy()
  }

  /** @param {Buffer} chunk */
  #take(chunk) {
    this.#received = Buffer.concat([this.#received, chunk])
    let parsed = parseReply(this.#received, 0)
    while (parsed !== undefined) {
      this.#received = this.#received.subarray(parsed.end)
      const waiting = this.#waiting.shift()
      if (parsed.reply instanceof RespError) waiting?.reject(parsed.reply)
      else waiting?.resolve(parsed.reply)
      parsed = parseReply(this.#received, 0)
    }
  }

  /** @param {Error} error */
  #fail(error) {
    for (const { reject } of this.#waiting.splice(0)) reject(error)
  }
}

/**
 * Formats a command as Redis reads it.
 * @param {(string | number | Buffer)[]} args
 */
export function encodeCommand(args) {
  const parts = args.map((arg) => (Buffer.isBuffer(arg) ? arg : Buffer.from(String(arg))))
  const bulks = parts.flatMap((part) => [Buffer.from(`$${part.length}\r\n`), part, Buffer.from('\r\n')])
  return Buffer.concat([Buffer.from(`*${parts.length}\r\n`), ...bulks])
}

/**
 * Reads one reply at an offset; undefined when it is not there in full yet.
 * @param {Buffer} bytes
 * @param {number} at
 * @returns {{ reply: Reply, end: number } | undefined}
 */
export function parseReply(bytes, at) {
  const eol = bytes.indexOf('\r\n', at)
  if (eol === -1) return undefined
  const line = bytes.toString('utf8', at + 1, eol)
  const end = eol + 2
  switch (bytes.toString('latin1', at, at + 1)) {
    case '+':
      return { reply: line, end }
    case '-':
      return { reply: new RespError(line), end }
    case ':':
      return { reply: Number(line), end }
    case '$':
      return parseBulk(bytes, end, Number(line))
    case '*':
      return parseArray(bytes, end, Number(line))
    default:
      throw new Error(`not a reply of RESP version 2: ${bytes.toString('latin1', at, eol)}`)
  }
}

/**
 * @param {Buffer} bytes
 * @param {number} at
 * @param {number} length
 */
function parseBulk(bytes, at, length) {
  if (length === -1) return { reply: null, end: at }
  const end = at + length + 2
  return bytes.length < end ? undefined : { reply: bytes.toString('utf8', at, at + length), end }
}

/**
 * @param {Buffer} bytes
 * @param {number} at
 * @param {number} length
 */
function parseArray(bytes, at, length) {
  if (length === -1) return { reply: null, end: at }
  /** @type {Reply[]} */
  const reply = []
  let end = at
  for (let i = 0; i < length; i++) {
    const parsed = parseReply(bytes, end)
    if (parsed === undefined) return undefined
    reply.push(parsed.reply)
    end = parsed.end
  }
  return { reply, end }
}
