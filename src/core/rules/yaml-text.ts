import type { Alias, CST, Document, LineCounter, Node, Pair, Scalar, YAMLMap } from 'yaml'
import { Problems, RulesError } from './problems.ts'
import { MAX_LEVELS } from './schema.ts'
import { isAlias, isMap, isScalar, isSeq, yamlPackage } from './yaml-package.ts'

const MAX_LENGTH = 8 * 1024 * 1024
/** The parser's stack has the document and the innermost value on top of the levels. */
const MAX_STACK = MAX_LEVELS + 2
const MAX_ALIASES_OF_ONE_ANCHOR = 1_000
/** The parser looks through all anchors and aliases for each alias: at 10,000 that takes a tenth of a second. */
const MAX_ANCHORS_AND_ALIASES = 10_000
const MAX_ALIASED_VALUES = 1_000_000
const MAX_SYNTAX_ERRORS = 10
const MAIN_KEY = /^[\s{"'-]*(domain|descriptors|routes|upstreams)["']?\s*:/m

/** Control characters that YAML does not allow in a text. A file in UTF-16 is full of them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for
const CONTROL = /[\0-\x08\x0b\x0c\x0e-\x1f]/

/** Texts of the language: a file may write them without quotes, even where YAML reads a number or a boolean. */
const TEXT_KEYS: ReadonlySet<string> = new Set(['domain', 'key', 'value', 'name'])

/** Switches of the language. YAML 1.1, which envoyproxy/ratelimit reads, has more words for them than YAML 1.2. */
const SWITCH_KEYS: ReadonlySet<string> = new Set([
  'shadow_mode',
  'quota_mode',
  'share_threshold',
  'detailed_metric',
  'value_to_metric',
  'unlimited',
  'secret',
  'tiered',
  'enabled',
  'count_denied',
])
const ON = /^(?:y|Y|yes|Yes|YES|on|On|ON)$/
const OFF = /^(?:n|N|no|No|NO|off|Off|OFF)$/

/** A number that some readers of YAML take for octal, and others for decimal. */
const AMBIGUOUS = /^[-+]?0[0-9]/

/** What the keys of a map are: of the language, names that the author chose, or anything, all the way down. */
type Keys = 'language' | 'names' | 'free'
const KEYS_BELOW: ReadonlyMap<string, Keys> = new Map([
  ['tiers', 'names'],
  ['metadata', 'free'],
  ['weights', 'free'],
  ['headers', 'free'],
])

/**
 * Reads a YAML file from an author who may make mistakes, or mean harm: the time that it takes grows with the length of
 * the text, however the text nests, repeats or refers. It throws a RulesError.
 */
export class YamlText {
  readonly #file: string
  readonly #yaml = yamlPackage()
  readonly #lines: LineCounter = new this.#yaml.LineCounter()
  readonly #problems = new Problems()
  readonly #document: Document
  readonly #anchors = new Map<string, Node>()
  readonly #targets = new Map<Alias, Node>()
  readonly #sizes = new Map<Node, number>()
  readonly #uses = new Map<Node, number>()
  readonly #pairs = new Map<YAMLMap, Map<string, Pair>>()
  #references = 0
  #aliasedValues = 0

  constructor(file: string, text: string) {
    this.#file = file
    if (text.length > MAX_LENGTH) this.#fail('RULE_FILE_TOO_LARGE', undefined, `${text.length} characters`)
    this.#document = this.#guarded(() => this.#compose(text))
    this.#guarded(() => this.#inspect(this.#document.contents as Node | null, 'language'))
    this.#problems.throwIfAny()
  }

  /** Returns what the file says, as plain values. What aliases refer to is shared. */
  toValue(): unknown {
    return this.#guarded(() => this.#document.toJS({ maxAliasCount: -1 }) as unknown)
  }

  /** Names where a path stands: `rules/api.yaml:14:5`. For one that is not there, the closest part above it. */
  place(path: readonly PropertyKey[], of: 'key' | 'value'): string {
    return this.#placeOf(this.#offsetOf(path, of))
  }

  line(path: readonly PropertyKey[]): number {
    return this.#lineOf(this.#offsetOf(path, 'value'))
  }

  #placeOf(offset: number): string {
    const { line, col } = this.#lines.linePos(offset)
    return `${this.#file}:${Math.max(1, line)}:${Math.max(1, col)}`
  }

  #lineOf(offset: number): number {
    return Math.max(1, this.#lines.linePos(offset).line)
  }

  #report(code: Parameters<Problems['add']>[0], offset: number | undefined, detail: string): void {
    this.#problems.add(code, offset === undefined ? this.#file : this.#placeOf(offset), detail)
  }

  #fail(code: Parameters<Problems['add']>[0], offset: number | undefined, detail: string): never {
    this.#report(code, offset, detail)
    this.#problems.throwIfAny()
    throw new Error('unreachable')
  }

  /** Turns whatever the parser throws into an error of ours. */
  #guarded<T>(read: () => T): T {
    try {
      return read()
    } catch (error) {
      if (error instanceof RulesError) throw error
      const reason = error instanceof Error ? error.message.split('\n')[0] : String(error)
      return this.#fail('RULE_SYNTAX', undefined, reason)
    }
  }

  #compose(text: string): Document {
    // Keys are compared by #inspect: the parser would compare each with all others of its map.
    const composer = new this.#yaml.Composer({
      merge: true,
      uniqueKeys: false,
      resolveKnownTags: false,
      logLevel: 'silent',
    })
    const tokens = this.#tokens(text)
    const [first, second] = take(composer.compose(tokens, true, text.length), 2)
    const control = CONTROL.exec(text)
    if (control !== null) this.#report('RULE_SYNTAX', control.index, `control character ${codePoint(control[0])}`)
    this.#reportSyntax(text, [...first.errors, ...first.warnings])
    if (second !== undefined) this.#report('RULE_SYNTAX', second.range[0], 'the file has a second document')
    this.#problems.throwIfAny()
    return first
  }

  /** Reports what the parser found: one mistake leads to many, and a text of another kind to hundreds. */
  #reportSyntax(text: string, found: readonly { readonly pos: [number, number]; readonly message: string }[]): void {
    if (found.length > 1 && !MAIN_KEY.test(text)) {
      this.#fail('RULE_FILE_FOREIGN', undefined, 'the file is not YAML, and no line begins with domain or descriptors')
    }
    for (const { pos, message } of found.slice(0, MAX_SYNTAX_ERRORS)) {
      this.#report('RULE_SYNTAX', pos[0], message.split('\n')[0])
    }
    this.#problems.omit(Math.max(0, found.length - MAX_SYNTAX_ERRORS))
  }

  /** Parses without recursion and stops before the text is too deep for the code that reads the result. */
  *#tokens(text: string): Generator<CST.Token> {
    const parser = new this.#yaml.Parser(this.#lines.addNewLine)
    this.#lines.addNewLine(0)
    for (const lexeme of new this.#yaml.Lexer().lex(text)) {
      yield* parser.next(lexeme)
      if (parser.stack.length > MAX_STACK) {
        this.#fail('RULE_FILE_TOO_DEEP', parser.offset - lexeme.length, `more than ${MAX_LEVELS} levels`)
      }
    }
    yield* parser.end()
  }

  /**
   * Looks at every node once, in the order of the text. It returns how many values the node stands for, with everything
   * that its aliases refer to.
   */
  #inspect(node: unknown, keys: Keys): number {
    if (isAlias(node)) return this.#inspectAlias(node)
    const anchor = isMap(node) || isSeq(node) || isScalar(node) ? node.anchor : undefined
    if (anchor !== undefined) this.#addAnchor(anchor, node as Node)
    let size = 1
    if (isMap(node)) size += this.#inspectMap(node, keys)
    else if (isSeq(node)) for (const item of node.items) size += this.#inspect(item, keys)
    if (anchor !== undefined) this.#sizes.set(node as Node, size)
    return size
  }

  #addAnchor(anchor: string, node: Node): void {
    this.#anchors.set(anchor, node)
    this.#countReference(offsetOfNode(node))
  }

  #countReference(offset: number): void {
    if (++this.#references > MAX_ANCHORS_AND_ALIASES) {
      this.#fail('RULE_TOO_MANY_ALIASES', offset, `more than ${MAX_ANCHORS_AND_ALIASES} anchors and aliases`)
    }
  }

  #inspectAlias(alias: Alias): number {
    const offset = offsetOfNode(alias)
    this.#countReference(offset)
    const target = this.#anchors.get(alias.source)
    if (target === undefined) return this.#badAlias(offset, `no anchor &${alias.source} before *${alias.source}`)
    const size = this.#sizes.get(target)
    if (size === undefined) return this.#badAlias(offset, `*${alias.source} inside of what it refers to`)
    this.#targets.set(alias, target)
    const uses = (this.#uses.get(target) ?? 0) + 1
    this.#uses.set(target, uses)
    if (uses > MAX_ALIASES_OF_ONE_ANCHOR)
      this.#fail('RULE_TOO_MANY_ALIASES', offset, `more than ${MAX_ALIASES_OF_ONE_ANCHOR} of one anchor`)
    this.#aliasedValues += size
    if (this.#aliasedValues > MAX_ALIASED_VALUES) {
      this.#fail('RULE_TOO_MANY_ALIASES', offset, `aliases for more than ${MAX_ALIASED_VALUES} values`)
    }
    return size
  }

  #badAlias(offset: number, detail: string): number {
    this.#report('RULE_SYNTAX', offset, detail)
    return 1
  }

  #inspectMap(map: YAMLMap, keys: Keys): number {
    const pairs = new Map<string, Pair>()
    this.#pairs.set(map, pairs)
    let size = 0
    for (const pair of map.items) {
      size += this.#inspect(pair.key, 'free')
      if (!isScalar(pair.key)) {
        size += this.#inspect(pair.value, 'free')
        continue
      }
      const name = nameOf(pair.key)
      this.#checkName(name, pair.key, pairs.get(name))
      pairs.set(name, pair)
      if (name === '<<') this.#checkMerge(pair.value)
      if (keys === 'language') {
        readAsText(name, pair)
        readAsSwitch(name, pair)
        this.#checkNumber(name, pair)
      }
      const below = keys === 'language' ? (KEYS_BELOW.get(name) ?? 'language') : keys === 'names' ? 'language' : 'free'
      size += this.#inspect(pair.value, below)
    }
    return size
  }

  /** Reports what cannot be merged. The aliases that it looks at come before their use, if they are right. */
  #checkMerge(source: unknown): void {
    const target = isAlias(source) ? this.#anchors.get(source.source) : source
    if (isSeq(target)) for (const item of target.items) this.#checkMerge(item)
    else if (target !== undefined && !isMap(target)) {
      this.#report('RULE_SYNTAX', offsetOfNode(source as Node), 'only maps can be merged')
    }
  }

  /** Reports a number that means one thing to us and another to envoyproxy/ratelimit. */
  #checkNumber(name: string, { value: node }: Pair): void {
    if (!isScalar(node) || typeof node.value !== 'number' || !AMBIGUOUS.test(node.source ?? '')) return
    const octal = /^[-+]?[0-7]+$/.test(node.source as string)
      ? `${Number.parseInt(node.source as string, 8)}`
      : 'an error'
    const reason = `ambiguous: ${node.value} in YAML 1.2, ${octal} in YAML 1.1; write it without the leading 0`
    this.#report('RULE_SYNTAX', offsetOfNode(node as Node), `${name}: got ${node.source} (${reason})`)
  }

  #checkName(name: string, key: Node, before: Pair | undefined): void {
    if (before !== undefined) {
      const line = this.#lineOf(offsetOfNode(before.key as Node))
      this.#report('RULE_SYNTAX', offsetOfNode(key), `${JSON.stringify(name)} is already given at line ${line}`)
    }
    // No object holds it like any other key, so that it would be lost on the way.
    if (name === '__proto__') this.#report('RULE_UNKNOWN_KEY', offsetOfNode(key), JSON.stringify(name))
  }

  #offsetOf(path: readonly PropertyKey[], of: 'key' | 'value'): number {
    let node = this.#document.contents as Node | null
    let offset = node === null ? 0 : offsetOfNode(node)
    path.forEach((part, i) => {
      const isKey = of === 'key' && i === path.length - 1
      const container = node !== null && isAlias(node) ? (this.#targets.get(node) ?? null) : node
      const pair = isMap(container) ? this.#pairs.get(container)?.get(String(part)) : undefined
      const item = isSeq(container) ? container.items[Number(part)] : isKey ? pair?.key : pair?.value
      node = (item ?? null) as Node | null
      if (node !== null) offset = offsetOfNode(node)
    })
    return offset
  }
}

/** Gives texts of the language back as they are written: `value: 404` and `value: 1.0` are texts. */
function readAsText(name: string, { value: node }: Pair): void {
  if (!isScalar(node)) return
  if (name === 'version' && typeof node.value === 'number') node.value = node.source
  if (!TEXT_KEYS.has(name) || typeof node.value === 'string') return
  // A limit may be without a name; what is called '' is a mistake.
  if (name === 'name' && node.value === null) return
  // envoyproxy/ratelimit reads a key without a value, `value:` or `value: null`, as an empty text.
  node.value = node.value === null ? '' : (node.source ?? String(node.value))
}

/** Reads unquoted `yes`, `on` and similar values as YAML 1.1 does. */
function readAsSwitch(name: string, { value: node }: Pair): void {
  if (!SWITCH_KEYS.has(name) || !isScalar(node) || node.type !== 'PLAIN' || typeof node.value !== 'string') return
  if (ON.test(node.value)) node.value = true
  else if (OFF.test(node.value)) node.value = false
}

/** Formats a key as the object will have it. The parser reads `<<` as a symbol. */
function nameOf({ value }: Scalar): string {
  return typeof value === 'symbol' ? String(value.description) : String(value)
}

function offsetOfNode(node: Node): number {
  return node.range?.[0] ?? 0
}

function codePoint(character: string): string {
  return `U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`
}

function take<T>(all: Iterable<T>, count: number): T[] {
  const taken: T[] = []
  for (const each of all) if (taken.push(each) === count) break
  return taken
}
