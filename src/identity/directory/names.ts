// Escapes a user name as a value in a DN or filter, against LDAP injection.
import type { Filter } from 'ldapts'
import { UnusableDirectory } from './settings.ts'

/** What is written as a pair of digits: RFC 4514 §2.4, and whatever is no plain character. */
// oxlint-disable-next-line no-control-regex -- control characters are meant
const SPECIAL = /[\u0000-\u001f\u007f"+,;<=>\\#]|^ | $/g

/** The name as the value of an attribute in a DN; the library would write some in the quotes of the standard before. */
export const dnValue = (name: string): string =>
  name.replace(SPECIAL, character => `\\${character.charCodeAt(0).toString(16).padStart(2, '0')}`)

/** A parsed filter with placeholders; values cannot change its structure. */
export type FilterTemplate = (values: Readonly<Record<'{0}' | '{1}', string>>) => Filter

/** Reads a filter (RFC 4515) in which `{0}` and `{1}` stand for values; `member` is what the record calls it. */
export async function readFilter(text: string, member: string): Promise<FilterTemplate> {
  const ldap = await import('ldapts')
  const parse = (): Filter => {
    try {
      return ldap.FilterParser.parseString(text)
    } catch {
      throw new UnusableDirectory(`${member} is no filter`)
    }
  }
  parse()
  return values => {
    const fill = (value: string): string =>
      value.replace(/\{[01]\}/g, place => (place === '{0}' ? values['{0}'] : values['{1}']))
    const filled = (filter: Filter): Filter => {
      if (filter instanceof ldap.AndFilter || filter instanceof ldap.OrFilter)
        filter.filters = filter.filters.map(filled)
      else if (filter instanceof ldap.NotFilter) filter.filter = filled(filter.filter)
      else if (filter instanceof ldap.SubstringFilter) {
        filter.initial = fill(filter.initial)
        filter.any = filter.any.map(fill)
        filter.final = fill(filter.final)
      } else if (
        filter instanceof ldap.ApproximateFilter ||
        filter instanceof ldap.GreaterThanEqualsFilter ||
        filter instanceof ldap.LessThanEqualsFilter ||
        filter instanceof ldap.ExtensibleFilter
      ) {
        filter.value = fill(filter.value)
      } else if (filter instanceof ldap.EqualityFilter && typeof filter.value === 'string') {
        filter.value = fill(filter.value)
      }
      return filter
    }
    return filled(parse())
  }
}

/** The value of `cn` where the DN begins with it; undefined otherwise. */
export function commonNameOf(dn: string): string | undefined {
  const found = /^\s*cn\s*=\s*((?:\\.|[^\\,+])*)/isu.exec(dn)?.[1]?.trimEnd()
  if (found === undefined) return undefined
  // RFC 4514 §2.4: digits in pairs are bytes of UTF-8, everything else behind a backslash is itself.
  return found
    .replace(/(?:\\[0-9a-f]{2})+/gi, bytes => Buffer.from(bytes.replaceAll('\\', ''), 'hex').toString('utf8'))
    .replace(/\\(.)/gsu, '$1')
}
