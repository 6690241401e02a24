// The schema of the configuration file for editors: that of the loader, with the settings of each provider type. The
// loader reads those like the API, with the same messages.
import { providerTypes } from '../providers/provider-types.ts'
import { settingsSchema } from '../records/json-schema.ts'
import { CONFIG_SCHEMA } from './schema.ts'

const configOf = (type: string): string => `providerConfig.${type}`
const described = providerTypes('internal')
const otherTypes = described.map(({ type }) => type).filter(type => type !== 'internal')

/** The schema of `docs/config.schema.json`. */
export const EDITOR_SCHEMA = {
  ...CONFIG_SCHEMA,
  definitions: {
    ...CONFIG_SCHEMA.definitions,
    identityProvider: {
      ...CONFIG_SCHEMA.definitions.identityProvider,
      allOf: described.map(({ type }) => ({
        // The internal type has the name of the service, which is a setting.
        if: { properties: { type: type === 'internal' ? { not: { enum: otherTypes } } : { const: type } } },
        // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
        then: { properties: { config: { anyOf: [{ type: 'string' }, { $ref: `#/definitions/${configOf(type)}` }] } } },
      })),
    },
    ...Object.fromEntries(
      described.map(({ type, settings }) => [configOf(type), settingsSchema(settings, { nullable: true })]),
    ),
  },
} as const
