// Valid client records, and the expected responses.
import fc from 'fast-check'
import { GRANT_TYPES } from '../../src/model/clients/grant-types.ts'

const name = fc.stringMatching(/^[a-z][a-z0-9._-]{0,20}$/)
const anyText = fc
  .string({ unit: 'grapheme', maxLength: 30 })
  .filter(text => !text.includes('\0') && text.isWellFormed())
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })

/** Random valid records. */
export const clientRecords = fc
  .record({
    client_id: anyText.filter(text => !['', '.', '..', 'svc'].includes(text) && !/[/\\;\p{Cc}]/u.test(text)),
    client_secret: fc.constant('secret'),
    authorized_grant_types: fc.uniqueArray(fc.constantFrom(...GRANT_TYPES.filter(type => type !== 'implicit')), {
      minLength: 1,
    }),
    redirect_uri: fc.uniqueArray(
      name.map(word => `https://${word}.example/cb`),
      { minLength: 1 },
    ),
    scope: fc.uniqueArray(name, { minLength: 1 }),
    authorities: fc.uniqueArray(name, { minLength: 1 }),
    autoapprove: fc.oneof(fc.boolean(), fc.uniqueArray(name)),
    allowpublic: optional(fc.boolean()),
    access_token_validity: optional(fc.integer({ min: 1, max: 2 ** 31 - 1 })),
    refresh_token_validity: optional(fc.integer({ min: 1, max: 2 ** 31 - 1 })),
    name: optional(anyText),
    allowedproviders: optional(fc.uniqueArray(name)),
    required_user_groups: fc.uniqueArray(name),
    token_salt: optional(anyText),
    // No lone surrogates and no members like `__proto__`: both are refused.
    note: optional(fc.jsonValue({ maxDepth: 3 }).filter(value => !/\\u|"__proto__":/.test(JSON.stringify(value)))),
  })
  .map(json => JSON.parse(JSON.stringify(json)) as Readonly<Record<string, unknown>>) // as sent

/** The expected response for such a record, without the time of its last change. */
export function documented(json: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { client_secret: _, autoapprove, ...rest } = json
  // Of these types above.
  const scope = json['scope'] as string[]
  const grants = json['authorized_grant_types'] as string[]
  const refreshes = grants.includes('authorization_code') || grants.includes('password')
  const approved =
    autoapprove === true
      ? ['true']
      : autoapprove === false
        ? []
        : (autoapprove as string[]).filter(each => scope.includes(each))
  const members = {
    ...rest,
    authorized_grant_types: [...new Set(refreshes ? [...grants, 'refresh_token'] : grants)],
    autoapprove: approved.includes('true') ? ['true'] : approved,
    resource_ids: ['none'],
  }
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined && value !== null))
}
