// The targets of PATCH operations: `attrPath` and `valuePath` of RFC 7644 §3.5.2, found in the description.
import type { AttributePath, Filter } from '../../../model/filters/filter.ts'
import { InvalidFilter, parsePath } from '../../../model/filters/filter.ts'
import type { Names, ResolvedPath, Schema } from '../schemas/attribute.ts'
import { ScimError } from '../error.ts'
import { shown } from '../requests/reader.ts'
import { checkValueFilter } from './value-filter.ts'

/** An attribute or a part of it, where `filter` selects values of a list; or a whole extension. */
export type Target = { readonly resolved: ResolvedPath; readonly filter?: Filter } | { readonly schema: Schema }

/** Reads a path; throws `invalidPath`, or `invalidFilter` for the contents of brackets. */
export function readTarget(names: Names, path: string): Target {
  const extension = names.extension(path)
  if (extension) return { schema: extension }
  const { schema, attribute, filter, subAttribute } = parse(path)
  const name = [schema === undefined ? attribute : `${schema}:${attribute}`, subAttribute].filter(Boolean).join('.')
  const resolved = names.find(name)
  if (!resolved) throw new ScimError('invalidPath', `Unknown attribute ${shown(name)}`)
  if (!filter) return { resolved }
  if (!resolved.attribute.multiValued) throw new ScimError('invalidPath', `${resolved.attribute.name} is not a list`)
  return { resolved, filter: checkValueFilter(filter, resolved.attribute) }
}

function parse(path: string): AttributePath {
  try {
    return parsePath(path)
  } catch (cause) {
    if (!(cause instanceof InvalidFilter)) throw cause
    throw new ScimError('invalidPath', `The path ${shown(path)} is not valid: ${cause.message}`, { cause })
  }
}
