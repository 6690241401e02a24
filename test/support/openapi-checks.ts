// Compiled checks of the schemas of OpenAPI documents. A process has one Ajv, because compiling the schema of schemas takes
// longer than most of what is checked with it, and a component is compiled once, whatever refers to it.
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { ValidateFunction } from 'ajv/dist/2020.js'
import type { OpenApi, Schema } from './openapi.ts'

const ajv = new Ajv2020({ strict: false, validateFormats: false })
const names = new WeakMap<OpenApi['components'], string>()
const checks = new Map<string, ValidateFunction>()
let documents = 0

/** A check of the schema; `#/components/…` in it is in the document. */
export function checkOf(schema: Schema, api?: OpenApi): ValidateFunction {
  const text = JSON.stringify(schema)
  const key = api ? text.replaceAll('"#/components/', `"${nameOf(api.components)}#/components/`) : text
  const check = checks.get(key) ?? ajv.compile(JSON.parse(key) as Schema) // it was one before
  checks.set(key, check)
  return check
}

/** What the last value that the check refused has wrong. */
export const errorsOf = (check: ValidateFunction): string => ajv.errorsText(check.errors)

function nameOf(components: OpenApi['components']): string {
  const known = names.get(components)
  if (known !== undefined) return known
  const name = `document:${(documents += 1)}`
  ajv.addSchema({ $id: name, components })
  names.set(components, name)
  return name
}
