import { MalformedMessage, ProtoReader } from '../../protobuf/reader.ts'
import { bytesField, join, messageField, type ProtoField, textField } from '../../protobuf/writer.ts'
import { readText } from './texts.ts'

/** Names what is asked for: rate limits, one message for each domain. */
export const TYPE_URL = 'type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig'

/** What a client says of itself. */
export interface XdsNode {
  readonly id: string
  readonly metadata: Readonly<Record<string, string>>
}

/** Asks for resources, and reports on the ones received: accepts them, or says what is wrong. */
export interface DiscoveryRequest {
  readonly node: XdsNode
  /** The version that was accepted last on this stream. */
  readonly version?: string | undefined
  /** That of the response that this is about. */
  readonly nonce?: string | undefined
  readonly error?: string | undefined
}

/** google.rpc.Code INVALID_ARGUMENT. */
const INVALID_ARGUMENT = Uint8Array.of(0x08, 3)

/** Encodes an envoy.service.discovery.v3.DiscoveryRequest. */
export function encodeRequest({ node, version = '', nonce = '', error }: DiscoveryRequest): Uint8Array {
  return join([
    textField(1, version),
    messageField(2, textField(1, node.id), ...structField(3, node.metadata)),
    textField(4, TYPE_URL),
    textField(5, nonce),
    ...(error === undefined ? [] : [messageField(6, INVALID_ARGUMENT, textField(2, error))]),
  ])
}

/** Encodes a google.protobuf.Struct of texts. */
function structField(number: number, texts: Readonly<Record<string, string>>): ProtoField[] {
  const entries = Object.entries(texts)
  if (entries.length === 0) return []
  // An empty text is a value, too.
  const structValue = (text: string): ProtoField => messageField(2, bytesField(3, Buffer.from(text)))
  return [messageField(number, ...entries.map(([key, text]) => messageField(1, textField(1, key), structValue(text))))]
}

/** All resources of a type, in a version. */
export interface DiscoveryResponse {
  readonly version: string
  readonly nonce: string
  readonly typeUrl: string
  readonly resources: readonly Resource[]
}

/** A google.protobuf.Any: a message of a type. */
export interface Resource {
  readonly typeUrl: string
  readonly value: Uint8Array
}

/** More resources than this are no set of domains. */
const MAX_RESOURCES = 100_000

/** Reads an envoy.service.discovery.v3.DiscoveryResponse. It throws a MalformedMessage. */
export function decodeResponse(bytes: Uint8Array): DiscoveryResponse {
  const reader = new ProtoReader()
  const end = bytes.length
  const [texts, resources]: [Record<number, string>, Resource[]] = [{}, []]
  reader.open(bytes, 0, end)
  while (reader.at < end) {
    const tag = reader.tag(end)
    if (tag === VERSION || tag === TYPE || tag === NONCE) texts[tag] = readText(reader, reader.part(end))
    else if (tag === RESOURCE) resources.push(readResource(reader, reader.part(end)))
    else reader.skip(tag, end)
    if (resources.length > MAX_RESOURCES) throw new MalformedMessage(`more than ${MAX_RESOURCES} resources`)
  }
  return { version: texts[VERSION] ?? '', nonce: texts[NONCE] ?? '', typeUrl: texts[TYPE] ?? '', resources }
}

const VERSION = 0x0a
const RESOURCE = 0x12
const TYPE = 0x22
const NONCE = 0x2a

function readResource(reader: ProtoReader, end: number): Resource {
  let [typeUrl, value]: [string, Uint8Array] = ['', new Uint8Array(0)]
  while (reader.at < end) {
    const tag = reader.tag(end)
    if (tag === 0x0a) typeUrl = readText(reader, reader.part(end))
    else if (tag === 0x12) {
      const to = reader.part(end)
      value = reader.bytes.subarray(reader.at, to)
      reader.at = to
    } else reader.skip(tag, end)
  }
  return { typeUrl, value }
}
