// The key `log`: what the lines of the log contain about requests.
import type { Problems } from '../problems.ts'
import { section } from './section.ts'

/** `log` in the configuration file. */
export interface LogFile {
  readonly requests?: 'none' | 'context' | 'all'
}

/** The settings of the log. */
export interface LogSettings {
  /** `context`: lines name their request, zone and trace. `all`: each request has a line, too. */
  readonly requests: 'none' | 'context' | 'all'
}

/** JSON Schema of the key. */
export const logSchema = section('The log.', {
  requests: {
    enum: ['none', 'context', 'all'],
    default: 'none',
    description:
      'What the log says about requests. context: lines that belong to a request have its id, zone and trace, and responses have X-Request-Id; all: each request also has its own line.',
  },
})

/** The settings, as far as their types are correct. */
export const logOf = (file: LogFile | undefined, problems: Problems): LogSettings => ({
  requests: (problems.hasValidTypes('log') ? file?.requests : undefined) ?? 'none',
})
