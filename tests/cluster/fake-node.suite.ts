import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** An Answer is a reply as RESP spells it, to a command in words. */
export type Answer = (words: readonly string[]) => string

/** A FakeNode is a node of a cluster that says what the test wants: what no real one would, or not at a given moment. */
export class FakeNode {
  readonly commands: (readonly string[])[] = []
  readonly sockets = new Set<Socket>()
  answer: Answer = () => '-ERR unknown command\r\n'
  readonly #server: Server

  constructor() {
    this.#server = createServer((socket) => this.#serve(socket))
  }

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get address(): string {
    return `127.0.0.1:${this.port}`
  }

  /** Returns how often a command has come. */
  received(name: string): number {
    return this.commands.filter(([word]) => word.toUpperCase() === name).length
  }

  stop(): void {
    for (const socket of this.sockets) socket.destroy()
    this.#server.close()
  }

  #serve(socket: Socket): void {
    this.sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => this.sockets.delete(socket))
    let received = ''
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1')
      for (let command = commandOf(received); command !== undefined; command = commandOf(received)) {
        received = received.slice(command.length)
        this.commands.push(command.words)
        socket.write(this.answer(command.words), 'latin1')
      }
    })
  }
}

/** Starts nodes that end with the running test. */
export async function startNodes(count: number): Promise<FakeNode[]> {
  const nodes = Array.from({ length: count }, () => new FakeNode())
  await Promise.all(nodes.map((node) => node.listen()))
  onTestFinished(() => {
    for (const node of nodes) node.stop()
  })
  return nodes
}

/** Formats the reply to CLUSTER SLOTS: each node is master of an equal part of the slots, in order. */
export function slotsReply(masters: readonly FakeNode[]): string {
  const ranges = masters.map(({ port }, i) => {
    const [from, next] = [i, i + 1].map((edge) => Math.floor((edge * 16_384) / masters.length))
    return `*3\r\n:${from}\r\n:${next - 1}\r\n*3\r\n$9\r\n127.0.0.1\r\n:${port}\r\n$2\r\nid\r\n`
  })
  return `*${masters.length}\r\n${ranges.join('')}`
}

/** Reads the first command, a list of strings; undefined while it is not all there. */
function commandOf(text: string): { words: string[]; length: number } | undefined {
  const head = /^\*(\d+)\r\n/.exec(text)
  if (head === null) return undefined
  const words: string[] = []
  let at = head[0].length
  for (let i = 0; i < Number(head[1]); i++) {
    const size = /^\$(\d+)\r\n/.exec(text.slice(at, at + 16))
    if (size === null) return undefined
    const start = at + size[0].length
    at = start + Number(size[1]) + 2
    if (at > text.length) return undefined
    words.push(text.slice(start, at - 2))
  }
  return { words, length: at }
}
