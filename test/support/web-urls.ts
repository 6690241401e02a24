// The same as `fc.webUrl` of fast-check, which makes a map of a million characters first: a second of each process that uses it.
import fc from 'fast-check'

const PATH_CHARACTERS = "abyzABYZ0189-._~!$&'()*+,;=:@"
const character = fc.oneof(
  { weight: 10, arbitrary: fc.constantFrom(...PATH_CHARACTERS.split('')) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 255 }).map(byte => `%${byte.toString(16).padStart(2, '0')}`) },
)
const segment = fc.string({ unit: character, maxLength: 10 })
const rest = fc.string({ unit: fc.oneof(character, fc.constantFrom('/', '?')), maxLength: 10 })
const optional = (mark: string) =>
  fc.option(rest, { nil: undefined }).map(text => (text === undefined ? '' : mark + text))

/** Valid URLs with http or https and a host name, with and without path, query and fragment (RFC 3986). */
export const webUrls: fc.Arbitrary<string> = fc
  .tuple(
    fc.constantFrom('http', 'https'),
    fc.domain(),
    fc.array(segment, { maxLength: 4 }),
    optional('?'),
    optional('#'),
  )
  .map(([scheme, host, path, query, fragment]) => {
    return `${scheme}://${host}${path.map(each => `/${each}`).join('')}${query}${fragment}`
  })
