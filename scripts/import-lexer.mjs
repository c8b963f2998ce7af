const space = /\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\//y
const word = /[\p{ID_Start}$_#][\p{ID_Continue}$\u200c\u200d]*/uy
const number = /\d[\w.]*/y
const string = /'(?:[^'\\\n]|\\[\s\S])*'|"(?:[^"\\\n]|\\[\s\S])*"/y
const templateText = /(?:[^`\\$]|\\[\s\S]|\$(?!\{))*/y
const regex = /\/(?![*/])(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/\w*/y

const wordsBeforeRegex = new Set(
  'await case delete do else extends in instanceof new of return throw typeof void yield'.split(' '),
)

/**
 * Returns the literal specifier and line of every import, export-from and import() of a TypeScript source, including
 * imports of types. Comments, strings, templates and regular expressions do not fool it; an import() of anything but a
 * literal is passed over.
 */
export function findImports(source) {
  const tokens = new Lexer(source).tokens()
  return tokens.flatMap((token, index) => {
    const specifier = token.kind === 'word' ? specifierAt(tokens, index) : undefined
    return specifier === undefined ? [] : [{ specifier: specifier.text, line: lineAt(source, token.at) }]
  })
}

const lineAt = (source, at) => source.slice(0, at).split('\n').length

/** Returns the string token of the import that starts at a word, if one does. */
function specifierAt(tokens, index) {
  const { text } = tokens[index]
  if (isPunctuation(tokens[index - 1], '.') || (text !== 'import' && text !== 'export')) return undefined
  const next = tokens[index + 1]
  if (text === 'import' && next?.kind === 'string') return next
  if (text === 'import' && isPunctuation(next, '(')) return literalArgument(tokens, index + 2)
  return specifierAfterFrom(tokens, index + 1)
}

const isPunctuation = (token, text) => token?.kind === 'punctuation' && token.text === text

function literalArgument(tokens, index) {
  const isLiteral = tokens[index]?.kind === 'string' && [')', ','].some((end) => isPunctuation(tokens[index + 1], end))
  return isLiteral ? tokens[index] : undefined
}

/** Walks a clause such as `type { a as b }, * as c from` up to the string that closes it. */
function specifierAfterFrom(tokens, start) {
  for (let i = start; i < tokens.length; i++) {
    const { kind, text } = tokens[i]
    if (kind === 'word' && text === 'from' && tokens[i + 1]?.kind === 'string') return tokens[i + 1]
    const belongsToClause = kind === 'word' || kind === 'string' || (kind === 'punctuation' && '{}*,'.includes(text))
    if (!belongsToClause || (i > start && (text === 'import' || text === 'export'))) return undefined
  }
  return undefined
}

/** Splits a source into tokens. It throws nothing away but white space, comments and the text of templates. */
class Lexer {
  #source
  #at = 0
  #tokens = []
  // For each template whose ${…} is open: how many braces are open within it.
  #openTemplates = []

  constructor(source) {
    this.#source = source
  }

  tokens() {
    while (this.#at < this.#source.length) this.#step()
    return this.#tokens
  }

  #step() {
    if (this.#match(space) !== undefined) return
    if (this.#take('word', word) || this.#take('string', string) || this.#take('literal', number)) return
    if (regexMayStart(this.#tokens.at(-1)) && this.#take('literal', regex)) return
    this.#takeMark()
  }

  #match(pattern) {
    pattern.lastIndex = this.#at
    const text = pattern.exec(this.#source)?.[0]
    this.#at += text?.length ?? 0
    return text
  }

  #take(kind, pattern) {
    const at = this.#at
    const text = this.#match(pattern)
    if (text === undefined) return false
    this.#tokens.push({ kind, text: kind === 'string' ? text.slice(1, -1) : text, at })
    return true
  }

  #takeMark() {
    const at = this.#at++
    const text = this.#source[at]
    if (text === '`') return this.#takeTemplate()
    const last = this.#openTemplates.length - 1
    if (text === '}' && this.#openTemplates[last] === 0) {
      this.#openTemplates.pop()
      return this.#takeTemplate()
    }
    if (last >= 0 && text === '{') this.#openTemplates[last] += 1
    if (last >= 0 && text === '}') this.#openTemplates[last] -= 1
    this.#tokens.push({ kind: 'punctuation', text, at })
  }

  /** Passes over the text of a template up to its end, or up to the code of its next ${…}. */
  #takeTemplate() {
    const at = this.#at
    this.#match(templateText)
    if (this.#source.startsWith('${', this.#at)) {
      this.#at += 2
      this.#openTemplates.push(0)
      this.#tokens.push({ kind: 'punctuation', text: '${', at })
    } else {
      this.#at += 1
      this.#tokens.push({ kind: 'literal', text: '`', at })
    }
  }
}

/** Returns whether a slash after this token starts a regular expression and is not a division. */
function regexMayStart(previous) {
  if (previous === undefined) return true
  if (previous.kind === 'word') return wordsBeforeRegex.has(previous.text)
  return previous.kind === 'punctuation' && !')]}'.includes(previous.text)
}
