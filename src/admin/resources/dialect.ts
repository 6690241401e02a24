// Common to the bodies of `/Users` and `/Groups`: the schema of UAA's dialect, and versions.
import { MAX_INT32 } from '../../base/json.ts'
import { refuseResource } from '../../users/refusal.ts'

/** The one schema of UAA's dialect. */
export const CORE_SCHEMA = 'urn:scim:schemas:core:1.0'
/** `schemas` of every response. */
export const SCHEMAS = [CORE_SCHEMA] as const

/** Refuses a body that names another schema. */
export function checkSchemas(schemas: readonly unknown[]): void {
  if (schemas.every(schema => schema === CORE_SCHEMA)) return
  throw refuseResource('scim', `Only schema '${CORE_SCHEMA}' is currently supported`)
}

/** Whether the number can be the initial version of a record. */
export const isVersion = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < MAX_INT32
