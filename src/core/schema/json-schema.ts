import type { ChoiceSchema, Field, NumberSchema, ObjectSchema, Schema, TextSchema } from './schema.ts'

type Json = Readonly<Record<string, unknown>>

/** Writes a schema as JSON Schema (draft 7), with a definition for each RefSchema. */
export function toJsonSchema(schema: Schema): Json {
  const definitions: Record<string, Json> = {}
  const json = new Writer(definitions).schema(schema)
  return { $schema: 'http://json-schema.org/draft-07/schema#', ...json, definitions }
}

/** Writes a schema as a part of a larger document: definitions are added to `definitions`, which is found at `at`. */
export function schemaPart(schema: Schema, definitions: Record<string, Json>, at: string): Json {
  return new Writer(definitions, at).schema(schema)
}

class Writer {
  readonly #definitions: Record<string, Json>
  readonly #at: string

  constructor(definitions: Record<string, Json>, at = '#/definitions/') {
    this.#definitions = definitions
    this.#at = at
  }

  schema(schema: Schema): Json {
    switch (schema.kind) {
      case 'any':
        return {}
      case 'boolean':
        return { type: 'boolean' }
      case 'text':
        return text(schema)
      case 'number':
      case 'integer':
        return number(schema)
      case 'choice':
        return choice(schema)
      case 'list':
        return { type: 'array', items: this.schema(schema.of), minItems: schema.min, maxItems: schema.max }
      case 'map':
        return {
          type: 'object',
          propertyNames: schema.keys && text(schema.keys),
          additionalProperties: this.schema(schema.of),
        }
      case 'object':
        return this.#object(schema)
      case 'either':
        return { anyOf: schema.of.map((each) => this.schema(each)), description: schema.doc }
      case 'ref':
        return this.#ref(schema.name, schema.to)
    }
  }

  #object({ fields, doc }: ObjectSchema): Json {
    const entries = Object.entries(fields)
    const required = entries.filter(([, field]) => field.required).map(([key]) => key)
    return {
      type: 'object',
      description: doc,
      properties: Object.fromEntries(entries.map(([key, field]) => [key, this.#field(field)])),
      required: required.length === 0 ? undefined : required,
      additionalProperties: false,
    }
  }

  #field({ schema, nullable, doc }: Field): Json {
    const plain = this.schema(schema)
    const json = nullable ? { anyOf: [plain, { type: 'null' }] } : plain
    if (doc === undefined) return json
    // Editors ignore everything next to a $ref.
    return '$ref' in json ? { description: doc, allOf: [json] } : { ...json, description: doc }
  }

  #ref(name: string, to: () => Schema): Json {
    if (!Object.hasOwn(this.#definitions, name)) {
      // Known before it is written: it may refer to itself.
      this.#definitions[name] = {}
      this.#definitions[name] = this.schema(to())
    }
    return { $ref: `${this.#at}${name}` }
  }
}

function text({ min, max, pattern, unquoted }: TextSchema): Json {
  const type = unquoted === undefined ? 'string' : ['string', ...unquoted]
  return { type, minLength: min, maxLength: max, pattern: pattern?.source }
}

function number({ kind, min, above, max }: NumberSchema): Json {
  return { type: kind, minimum: min, exclusiveMinimum: above, maximum: max }
}

function choice({ of, anyCase }: ChoiceSchema): Json {
  const inEachCase = (each: string): string[] => [each, each.toUpperCase(), each[0].toUpperCase() + each.slice(1)]
  return { type: 'string', enum: anyCase ? of.flatMap(inEachCase) : of }
}
