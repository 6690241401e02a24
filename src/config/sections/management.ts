// `listen.management`: the port of the metrics.
import type { Problems } from '../problems.ts'

/** As in the file. */
export interface ManagementFile {
  readonly host?: string
  readonly port?: number
}

/** Where metrics are served. */
export interface ManagementSettings {
  readonly host: string
  readonly port: number
}

/** JSON Schema of `listen.management`. */
export const managementSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['port'],
  description: 'The port of the metrics for Prometheus, which asks for no credentials; absent: none are collected.',
  properties: {
    host: { type: 'string', minLength: 1, default: '127.0.0.1', description: 'Address or name to listen on.' },
    port: { type: 'integer', minimum: 1, maximum: 65_535, description: 'Port.' },
  },
} as const

/** The settings; reports the port of the server itself. */
export function managementOf(
  file: ManagementFile | undefined,
  { port, problems }: { readonly port: number; readonly problems: Problems },
): ManagementSettings | undefined {
  const key = 'listen.management'
  if (file?.port === undefined || !problems.hasValidTypes(key)) return undefined
  if (file.port === port) problems.add(`${key}.port`, 'must not be the port of the server')
  return { host: file.host ?? '127.0.0.1', port: file.port }
}
