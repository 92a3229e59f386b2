/** The types of the SDK, from the schemas of the OpenAPI document. */

interface Schema {
  $ref?: string
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  items?: Schema
  prefixItems?: Schema[]
  description?: string
}

interface Operation {
  operationId: string
  requestBody?: { content: Record<string, { schema: Schema }> }
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>
}

interface OpenApi {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}

/** Operations whose body has a schema of its own, which no component names. */
const unnamed = [
  ['verifyScoreCredential', 'result'],
  ['reportAgentDecision', 'request'],
] as const

export function sdkTypes(document: unknown): string {
  const { paths, components } = document as OpenApi
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  const named = Object.entries(components.schemas)
  for (const [id, part] of unnamed) {
    const operation = operations.find(({ operationId }) => operationId === id)
    const content =
      part === 'result' ? operation?.responses[200]?.content : operation?.requestBody?.content
    const schema = content?.['application/json']?.schema
    if (schema === undefined) throw new Error(`${id} has no ${part}`)
    const name = `${id.charAt(0).toUpperCase()}${id.slice(1)}${part === 'result' ? 'Result' : 'Request'}`
    if (schema.$ref === undefined) named.push([name, schema])
  }
  const declarations = named
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, schema]) => `${comment(schema, '')}export type ${name} = ${typeOf(schema, '')}\n`)
  return `/** Generated from the OpenAPI document by \`npm run generate\`: do not edit. */\n\n${declarations.join('\n')}`
}

function typeOf(schema: Schema, indent: string): string {
  if (schema.$ref !== undefined) return schema.$ref.split('/').at(-1) ?? 'unknown'
  if (schema.const !== undefined) return literal(schema.const)
  if (schema.enum !== undefined) return schema.enum.map(literal).join(' | ')
  const either = schema.anyOf ?? schema.oneOf
  if (either !== undefined)
    return [...new Set(either.map((part) => typeOf(part, indent)))].join(' | ')
  if (schema.allOf !== undefined)
    return schema.allOf.map((part) => `(${typeOf(part, indent)})`).join(' & ')
  if (Array.isArray(schema.type))
    return schema.type.map((type) => typeOf({ ...schema, type }, indent)).join(' | ')
  const { type } = schema
  if (type === 'string' || type === 'boolean' || type === 'null') return type
  if (type === 'number' || type === 'integer') return 'number'
  if (type === 'array') return arrayOf(schema, indent)
  const isObject = type === 'object' || schema.properties !== undefined
  return isObject ? objectOf(schema, indent) : 'unknown'
}

function arrayOf({ prefixItems, items }: Schema, indent: string): string {
  if (prefixItems !== undefined)
    return `[${prefixItems.map((item) => typeOf(item, indent)).join(', ')}]`
  return items === undefined ? 'unknown[]' : `Array<${typeOf(items, indent)}>`
}

function objectOf(schema: Schema, indent: string): string {
  const { properties = {}, required = [], additionalProperties: more } = schema
  const inner = `${indent}  `
  const members = Object.entries(properties).map(([name, part]) => {
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)
    const optional = required.includes(name) ? '' : '?'
    return `${comment(part, inner)}${inner}${key}${optional}: ${typeOf(part, inner)}\n`
  })
  if (members.length === 0)
    return `Record<string, ${typeof more === 'object' ? typeOf(more, indent) : 'unknown'}>`
  const open = more === false ? '' : `${inner}[name: string]: unknown\n`
  return `{\n${members.join('')}${open}${indent}}`
}

function comment({ description }: Schema, indent: string): string {
  return description === undefined
    ? ''
    : `${indent}/** ${description.replaceAll('*/', '* /').replaceAll('\n', ' ')} */\n`
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value.replaceAll("'", "\\'")}'` : JSON.stringify(value)
}
