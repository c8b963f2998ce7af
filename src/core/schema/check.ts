import type {
  ChoiceSchema,
  EitherSchema,
  ListSchema,
  NumberSchema,
  ObjectSchema,
  Schema,
  TextSchema,
} from './schema.ts'

/** One way in which a value does not follow its schema. */
export interface Issue {
  readonly path: readonly PropertyKey[]
  readonly reason: string
  /**
   * What is wrong: the value at the path, the last key of the path, or keys that the object at the path has too many.
   */
  readonly of: 'value' | 'key' | 'unknown keys'
  readonly unknownKeys: readonly string[]
  /** Of unknown keys: the keys that the object may have. */
  readonly knownKeys: readonly string[]
  /** The value is of another form altogether, not just too long or too large. */
  readonly isMismatch: boolean
}

type Parts = Readonly<Record<string, unknown>>
type SchemaOf<K extends Schema['kind']> = Extract<Schema, { kind: K }>

/** Returns all that is wrong with a value, in the order of the schema; nothing, if it follows the schema. */
export function findIssues(schema: Schema, value: unknown): readonly Issue[] {
  const check = new Check()
  check.value(schema, value)
  return check.issues
}

class Check {
  issues: Issue[] = []
  readonly #path: PropertyKey[] = []

  value(schema: Schema, value: unknown): void {
    switch (schema.kind) {
      case 'any':
        break
      case 'boolean':
        if (typeof value !== 'boolean') this.#mismatch('boolean', value)
        break
      case 'text':
        if (typeof value !== 'string') this.#mismatch('string', value)
        else this.#text(schema, value)
        break
      case 'number':
      case 'integer':
        if (typeof value !== 'number' || !Number.isFinite(value)) this.#mismatch('number', value)
        else if (schema.kind === 'integer' && !Number.isInteger(value)) this.#mismatch('int', value)
        else this.#number(schema, value)
        break
      case 'choice':
        if (schema.anyCase && typeof value !== 'string') this.#mismatch('string', value)
        else this.#choice(schema, value)
        break
      case 'list':
        if (!Array.isArray(value)) this.#mismatch('array', value)
        else this.#list(schema, value)
        break
      case 'map':
        if (!isPlainObject(value)) this.#mismatch('record', value)
        else this.#map(schema, value)
        break
      case 'object':
        if (!isObject(value)) this.#mismatch('object', value)
        else this.#object(schema, value)
        break
      case 'either':
        this.#either(schema, value)
        break
      case 'ref':
        this.value(schema.to(), value)
    }
  }

  #text(schema: TextSchema, text: string): void {
    const { min = 0, max = Number.POSITIVE_INFINITY, pattern, whenShort, whenOther } = schema
    if (text.length < min) this.#add(whenShort ?? `too small: expected string to have >=${min} characters`)
    if (text.length > max && [...text].length > max) this.#add(`too big: expected string to have <=${max} characters`)
    if (pattern !== undefined && !pattern.test(text)) {
      this.#add(whenOther ?? `invalid string: must match pattern ${pattern}`)
    }
  }

  #number({ kind, min, above, max }: NumberSchema, number: number): void {
    if (min !== undefined && number < min) this.#add(`too small: expected number to be >=${min}`)
    else if (above !== undefined && number <= above) this.#add(`too small: expected number to be >${above}`)
    else if (max !== undefined && number > max) this.#add(`too big: expected number to be <=${max}`)
    else if (kind === 'integer' && number > Number.MAX_SAFE_INTEGER) {
      this.#add(`too big: expected int to be <=${Number.MAX_SAFE_INTEGER}`)
    } else if (kind === 'integer' && number < Number.MIN_SAFE_INTEGER) {
      this.#add(`too small: expected int to be >=${Number.MIN_SAFE_INTEGER}`)
    }
  }

  #choice({ of, anyCase }: ChoiceSchema, value: unknown): void {
    if (of.includes((anyCase ? (value as string).toLowerCase() : value) as string)) return
    this.#add(`invalid option: expected one of ${of.map((each) => JSON.stringify(each)).join('|')}`, true)
  }

  #list(schema: ListSchema, list: readonly unknown[]): void {
    const { of, min = 0, max = Number.POSITIVE_INFINITY, whenShort } = schema
    if (list.length > max) this.#add(`too big: expected array to have <=${max} items`)
    // What is wrong with the parts of a list that is too long may be without end.
    else for (let i = 0; i < list.length; i++) this.#below(i, of, list[i])
    if (list.length < min) this.#add(whenShort ?? `too small: expected array to have >=${min} items`)
  }

  #map({ keys, of }: SchemaOf<'map'>, map: Parts): void {
    for (const [key, part] of Object.entries(map)) {
      const [issue] = keys === undefined ? [] : findIssues(keys, key)
      if (issue === undefined) this.#below(key, of, part)
      else this.#add(issue.reason, true, 'key', [...this.#path, key])
    }
  }

  #object({ fields }: ObjectSchema, parts: Parts): void {
    for (const key in fields) {
      const { schema, required, nullable } = fields[key]
      const part = parts[key]
      if (part === undefined ? required !== true : part === null && nullable === true) continue
      this.#below(key, schema, part)
    }
    const unknownKeys: string[] = []
    // Inherited keys too: an object that has them was given with that intent.
    for (const key in parts) if (!Object.hasOwn(fields, key)) unknownKeys.push(key)
    if (unknownKeys.length === 0) return
    const path = [...this.#path]
    const knownKeys = Object.keys(fields)
    this.issues.push({ path, reason: '', of: 'unknown keys', unknownKeys, knownKeys, isMismatch: false })
  }

  /**
   * Reports what is wrong with the one form that the value has: the one without a mismatch, or else the one whose
   * mismatches lie deeper than the value. Where there is no such form, or several, it says what is expected.
   */
  #either({ of, expected }: EitherSchema, value: unknown): void {
    const before = this.issues
    const found: Issue[][] = []
    for (const schema of of) {
      this.issues = []
      this.value(schema, value)
      found.push(this.issues)
      if (this.issues.length === 0) break
    }
    this.issues = before
    if (found[found.length - 1].length === 0) return
    const depth = this.#path.length
    const near = found.filter((issues) => !issues.some(({ isMismatch }) => isMismatch))
    const ofForm = found.filter((issues) => !issues.some(({ isMismatch, path }) => isMismatch && path.length === depth))
    const meant = near.length === 0 ? ofForm : near
    if (meant.length === 1) this.issues.push(...meant[0])
    else this.#add(expected, true)
  }

  #below(key: PropertyKey, schema: Schema, value: unknown): void {
    this.#path.push(key)
    this.value(schema, value)
    this.#path.pop()
  }

  #mismatch(expected: string, value: unknown): void {
    this.#add(`invalid input: expected ${expected}, received ${typeName(value)}`, true)
  }

  #add(reason: string, isMismatch = false, of: Issue['of'] = 'value', path: readonly PropertyKey[] = this.#path): void {
    this.issues.push({ path: [...path], reason, of, unknownKeys: [], knownKeys: [], isMismatch })
  }
}

function isObject(value: unknown): value is Parts {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Accepts objects of other realms, but no instances of classes. */
function isPlainObject(value: unknown): value is Parts {
  if (!isObject(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

function typeName(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  if (typeof value !== 'object' || isPlainObject(value)) return typeof value
  return value.constructor?.name ?? 'object'
}
