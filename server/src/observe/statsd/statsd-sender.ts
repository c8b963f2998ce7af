import { connect } from 'node:net'

/** Where StatsD is, and over what it is reached. */
export interface StatsdPlace {
  readonly host: string
  readonly port: number
  readonly isDog: boolean
}

/** What fits into a datagram on every network that is not broken. */
const DATAGRAM_BYTES = 1_400
const CONNECT_MS = 1_000

/** Sends lines to StatsD, over TCP or, to DogStatsD, over UDP. Rejects when nothing accepts them. */
export function sendLines(lines: readonly string[], place: StatsdPlace): Promise<void> {
  return place.isDog ? sendDatagrams(datagramsOf(lines), place) : sendStream(lines.join(''), place)
}

/** Sends a text on a new connection: one every few seconds, and none that lies idle and breaks. */
function sendStream(text: string, { host, port }: StatsdPlace): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port })
    socket.setTimeout(CONNECT_MS, () => socket.destroy(new Error('no answer')))
    socket.once('error', reject)
    socket.once('close', () => resolve())
    // What it says is not read, and must not keep the connection open.
    socket.resume()
    socket.end(text)
  })
}

function sendDatagrams(datagrams: readonly string[], { host, port }: StatsdPlace): Promise<void> {
  return new Promise((resolve, reject) => {
    const { createSocket } = process.getBuiltinModule('node:dgram')
    const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4')
    const end = (error?: Error | null): void => {
      socket.close()
      if (error) reject(error)
      else resolve()
    }
    socket.once('error', end)
    let left = datagrams.length
    for (const datagram of datagrams) {
      socket.send(datagram, port, host, (error) => {
        if (left < 0) return
        left = error ? -1 : left - 1
        if (left <= 0) end(error)
      })
    }
  })
}

/** Joins lines as far as a datagram takes them. A longer line has a separate one. */
export function datagramsOf(lines: readonly string[]): string[] {
  const datagrams: string[] = []
  let text = ''
  let bytes = 0
  for (const line of lines) {
    const size = Buffer.byteLength(line)
    if (text !== '' && bytes + size > DATAGRAM_BYTES) {
      datagrams.push(text)
      text = ''
      bytes = 0
    }
    text += line
    bytes += size
  }
  if (text !== '') datagrams.push(text)
  return datagrams
}
