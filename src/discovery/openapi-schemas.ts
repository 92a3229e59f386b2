/**
 * Pure: the schemas of the modules as the contract shows them. JSON Schema can say the same thing
 * in several ways; the contract takes the one that generators of clients and agents read best.
 */
type Json = Record<string, unknown>

/**
 * Returns a copy of a schema without the additions of the schema library. Each titled object
 * or union of objects becomes a reference, and `schemas` gets it under its title. Throws if two different schemas share
 * a title.
 */
export function published(node: unknown, schemas: Map<string, Json>): unknown {
  if (Array.isArray(node)) return node.map((item) => published(item, schemas))
  if (!isObject(node)) return node
  const copy: Json = {}
  for (const [name, member] of Object.entries(node)) copy[name] = published(member, schemas)
  const plain = plainForm(copy, schemas)
  const { title, type, oneOf } = plain
  const isPublished = type === 'object' || Array.isArray(oneOf)
  if (typeof title !== 'string' || !isPublished) return plain
  const known = schemas.get(title)
  if (known !== undefined && JSON.stringify(known) !== JSON.stringify(plain))
    throw new Error(`two different schemas have the title ${title}`)
  schemas.set(title, plain)
  return { $ref: `#/components/schemas/${title}` }
}

function plainForm(schema: Json, schemas: ReadonlyMap<string, Json>): Json {
  const { anyOf, ...others } = schema
  if (Array.isArray(anyOf)) return unionForm(anyOf.filter(isObject), others, schemas)
  if (Array.isArray(schema.enum) && schema.type === undefined) return { type: 'string', ...schema }
  return isOpenObject(schema) ? openForm(schema) : schema
}

/** An object that says nothing of further members allows them. The contract says so. */
function isOpenObject({ type, additionalProperties }: Json): boolean {
  return type === 'object' && additionalProperties === undefined
}

/** A record with members of any name and value is an open object as well. */
function openForm({ patternProperties, ...schema }: Json): Json {
  const isAny = JSON.stringify(patternProperties) === '{"^.*$":{}}'
  return { ...schema, ...(isAny ? {} : { patternProperties }), additionalProperties: true }
}

function unionForm(members: Json[], others: Json, schemas: ReadonlyMap<string, Json>): Json {
  const values = members.filter(({ type }) => type !== 'null')
  const nothing = members.find(({ type }) => type === 'null')
  const [value = {}] = values
  if (values.every((one) => typeof one.const === 'string'))
    return nullable({ type: 'string', enum: values.map((one) => one.const), ...others }, nothing)
  if (nothing !== undefined && values.length === 1 && value.$ref === undefined)
    return nullable({ ...value, ...others }, nothing)
  const discriminator = discriminatorOf(members, schemas)
  return { ...others, oneOf: members, ...(discriminator && { discriminator }) }
}

function nullable(schema: Json, nothing: Json | undefined): Json {
  if (nothing === undefined) return schema
  const parts = [schema.description, nothing.description]
  const text = parts.filter((part) => typeof part === 'string')
  return {
    ...schema,
    type: [schema.type, 'null'],
    ...(Array.isArray(schema.enum) ? { enum: [...schema.enum, null] } : {}),
    ...(text.length === 0 ? {} : { description: text.join(' ') }),
  }
}

/** Returns the member with a different constant in each of the referenced objects. */
function discriminatorOf(
  members: readonly Json[],
  schemas: ReadonlyMap<string, Json>,
): { propertyName: string; mapping: Json } | undefined {
  const referenced = members.map(({ $ref }) => ({
    $ref,
    properties: Object(schemas.get(String($ref).split('/').at(-1) ?? '')?.properties) as Json,
  }))
  const [first] = referenced
  for (const propertyName of Object.keys(first?.properties ?? {})) {
    const values = referenced.map(({ properties }) => Object(properties[propertyName]).const)
    const isDistinct = new Set(values).size === members.length
    if (isDistinct && values.every((value) => typeof value === 'string')) {
      const mapping = referenced.map(({ $ref }, i) => [values[i], $ref])
      return { propertyName, mapping: Object.fromEntries(mapping) }
    }
  }
  return undefined
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
