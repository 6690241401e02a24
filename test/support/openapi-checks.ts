// Compiled checks of the schemas of OpenAPI documents. A process has one Ajv, because compiling the schema of schemas takes
// longer than most of what is checked with it, and a component is compiled once, whatever refers to it, in whichever document.
import { hash } from 'node:crypto'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { ValidateFunction } from 'ajv/dist/2020.js'
import type { OpenApi, Schema } from './openapi.ts'

type Schemas = OpenApi['components']['schemas']

// Most checks run only a few times, so that optimizing their code does not pay off.
const ajv = new Ajv2020({ strict: false, validateFormats: false, inlineRefs: false, code: { optimize: false } })
const checks = new Map<string, ValidateFunction>()
const REFERENCE = /"#\/components\/schemas\/([^"/]+)"/g
/** Of components, by the document and their name in it. */
const ids = new WeakMap<Schemas, Map<string, string>>()
const added = new Set<string>()

/** A check of the schema; `#/components/schemas/…` in it is in the document. */
export function checkOf(schema: Schema, api?: OpenApi): ValidateFunction {
  const text = JSON.stringify(schema)
  const key = api ? withIds(text, api.components.schemas) : text
  const check = checks.get(key) ?? ajv.compile(JSON.parse(key) as Schema) // it was one before
  checks.set(key, check)
  return check
}

/** The errors of the last refused value. */
export const errorsOf = (check: ValidateFunction): string => ajv.errorsText(check.errors)

const withIds = (text: string, schemas: Schemas): string =>
  text.replace(REFERENCE, (_, name: string) => `"${idOf(name, schemas)}"`)

/** The same for components that are equal with all that they refer to. */
function idOf(name: string, schemas: Schemas): string {
  const known = ids.get(schemas) ?? new Map<string, string>()
  ids.set(schemas, known)
  const before = known.get(name)
  if (before !== undefined) return before
  const parts = partsOf(name, schemas)
  const id = `schema:${hash('sha256', JSON.stringify([...parts]))}`
  known.set(name, id)
  if (added.has(id)) return id
  added.add(id)
  ajv.addSchema({ $id: id, ...(JSON.parse(withIds(parts.get(name) ?? '', schemas)) as Schema) })
  return id
}

/** The texts of a component and of all that it refers to, itself first. */
function partsOf(name: string, schemas: Schemas, found = new Map<string, string>()): ReadonlyMap<string, string> {
  const text = JSON.stringify(schemas[name] ?? { $ref: `missing:${name}` })
  found.set(name, text)
  for (const [, each = ''] of text.matchAll(REFERENCE)) if (!found.has(each)) partsOf(each, schemas, found)
  return found
}
