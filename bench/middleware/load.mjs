import { connect } from 'node:net'

const REQUEST = Buffer.from('GET / HTTP/1.1\r\nHost: bench\r\n\r\n')
const END_OF_HEAD = '\r\n\r\n'
const BODY = 'ok'

/** Keeps connections busy with one request each, and counts the answers. */
export class Load {
  answers = 0
  refusals = 0
  #awaited = Number.POSITIVE_INFINITY
  #arrived = () => {}
  #sockets = []
  #idle = []
  #isHeld = false
  #allIdle = () => {}

  constructor(port, connections) {
    for (let i = 0; i < connections; i++) this.#open(port)
  }

  /** Resolves when so many answers more have come. */
  more(count) {
    this.#awaited = this.answers + count
    return new Promise((resolve) => {
      this.#arrived = resolve
    })
  }

  /** Lets no connection send another request, and resolves when all have their answer. */
  hold() {
    this.#isHeld = true
    return new Promise((resolve) => {
      this.#allIdle = resolve
    })
  }

  /** Ends a hold. */
  go() {
    this.#isHeld = false
    for (const socket of this.#idle.splice(0)) socket.write(REQUEST)
  }

  close() {
    for (const socket of this.#sockets) socket.destroy()
  }

  #open(port) {
    const socket = connect(port, '127.0.0.1', () => socket.write(REQUEST))
    let received = ''
    socket.setNoDelay(true)
    socket.setEncoding('latin1')
    socket.on('data', (chunk) => {
      received += chunk
      const end = received.indexOf(END_OF_HEAD)
      if (end < 0 || received.length < end + END_OF_HEAD.length + BODY.length) return
      this.answers++
      if (!received.startsWith('HTTP/1.1 200')) this.refusals++
      if (this.answers === this.#awaited) this.#arrived()
      received = ''
      this.#next(socket)
    })
    socket.on('error', () => {})
    this.#sockets.push(socket)
  }

  #next(socket) {
    if (!this.#isHeld) {
      socket.write(REQUEST)
      return
    }
    this.#idle.push(socket)
    if (this.#idle.length === this.#sockets.length) this.#allIdle()
  }
}
