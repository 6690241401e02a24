// The key `tracing`: traces by OpenTelemetry.
import type { Problems } from '../problems.ts'
import { section } from './section.ts'

/** `tracing` in the configuration file. */
export interface TracingFile {
  readonly enabled?: boolean
}

/** JSON Schema of the key. */
export const tracingSchema = section('Traces by OpenTelemetry, whose SDK and exporter the operator loads.', {
  enabled: { type: 'boolean', default: false, description: 'Whether requests and database queries have spans.' },
})

/** Whether there are traces. */
export const tracingOf = (file: TracingFile | undefined, problems: Problems): boolean =>
  problems.hasValidTypes('tracing') && file?.enabled === true
