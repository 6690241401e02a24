// Escapes a user name as a value in a DN or filter, against LDAP injection.
import type { Filter } from 'ldapts'
import { UnusableDirectory } from '../../providers/directory-settings.ts'

/** Characters escaped as hexadecimal digits: those of RFC 4514 §2.4, and control characters. */
// oxlint-disable-next-line no-control-regex -- control characters are meant
const SPECIAL = /[\u0000-\u001f\u007f"+,;<=>\\#]|^ | $/g

/** Escapes the name as an attribute value of a DN. The library would quote some values as RFC 1779 did. */
export const dnValue = (name: string): string =>
  name.replace(SPECIAL, character => `\\${character.charCodeAt(0).toString(16).padStart(2, '0')}`)

/** A parsed filter with placeholders; values cannot change its structure. */
type FilterTemplate = (values: Readonly<Record<'{0}' | '{1}', string>>) => Filter

/** Parses a filter (RFC 4515) with the placeholders `{0}` and `{1}`; `member` is its name in the provider's record. */
export async function readFilter(text: string, member: string): Promise<FilterTemplate> {
  const ldap = await import('ldapts')
  const parse = (): Filter => {
    try {
      return ldap.FilterParser.parseString(text)
    } catch {
      throw new UnusableDirectory(`${member} is not a filter`)
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
