// The clients of a session in one column: a line for each, so that concurrent additions are appended and none is lost.
import { fromJson, toJson } from '../rows.ts'

/** JSON escapes line breaks, so an id never contains the separator. */
export const lineOf = (clientId: string): string => `${toJson(clientId)}\n`

/** Removes duplicates, which concurrent additions can leave. */
export const clientsIn = (text: string): readonly string[] => [
  ...new Set(
    text
      .split('\n')
      .filter(line => line !== '')
      .map(line => fromJson<string>(line)),
  ),
]
