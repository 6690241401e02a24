// The key `uaa.limitedFunctionality`, as in UAA.
import { resolve } from 'node:path'
import { DEFAULT_ENDPOINTS, DEFAULT_METHODS } from '../../model/zones/limited-mode.ts'
import type { LimitedMode } from '../../model/zones/limited-mode.ts'
import type { Problems } from '../problems.ts'

/** The key in the configuration file. */
export interface LimitedModeFile {
  readonly statusFile?: string
  readonly whitelist?: { readonly endpoints?: readonly string[]; readonly methods?: readonly string[] }
}

/** JSON Schema of the key. */
export const limitedModeSchema = {
  type: 'object',
  additionalProperties: false,
  description: 'Limited mode: serves only the listed requests, for example during a database migration.',
  properties: {
    statusFile: {
      type: 'string',
      minLength: 1,
      description: 'A file, relative to this one. The server is limited while it exists; checked every five seconds.',
    },
    whitelist: {
      type: 'object',
      additionalProperties: false,
      description: 'Requests that are served: those whose path or method is listed.',
      properties: {
        endpoints: {
          type: 'array',
          items: {
            type: 'string',
            pattern: '^/[^*?#]*(?:/\\*\\*)?$',
            patternErrorMessage: 'must be a path that begins with /, such as /oauth/token or /login/**',
          },
          default: [...DEFAULT_ENDPOINTS],
          description: 'Paths below base_url. A trailing /** includes everything below.',
        },
        methods: {
          type: 'array',
          items: { type: 'string', pattern: '^[A-Za-z]+$', patternErrorMessage: 'must have letters only' },
          default: [...DEFAULT_METHODS],
          description: 'Methods.',
        },
      },
    },
  },
} as const

/** The setting; undefined without a status file, in which case limited mode is never active. */
export function limitedModeOf(
  file: LimitedModeFile | undefined,
  folder: string,
  problems: Problems,
): LimitedMode | undefined {
  if (file?.statusFile === undefined || !problems.hasValidTypes('uaa.limitedFunctionality')) return undefined
  return {
    statusFile: resolve(folder, file.statusFile),
    endpoints: file.whitelist?.endpoints ?? DEFAULT_ENDPOINTS,
    methods: (file.whitelist?.methods ?? DEFAULT_METHODS).map(method => method.toUpperCase()),
  }
}
