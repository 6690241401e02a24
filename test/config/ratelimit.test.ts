import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { loadText, problemsOf, temporaryFolder } from '../support/config.ts'

const folder = temporaryFolder()
const load = (section: object) => loadText(folder, JSON.stringify({ ratelimit: section }))

const other = { name: 'Others', pathSelectors: ['other'], global: '5r/s' }

describe('ratelimit', () => {
  it('is absent by default', async () => {
    assert.equal((await loadText(folder, '{}')).rateLimit, undefined)
  })

  // Covers configuration file: ratelimit
  it('has UAA’s keys', async () => {
    const { rateLimit } = await load({
      loggingOption: 'allcallswithdetails',
      credentialID: 'JWTjsonField:Claims:email',
      limiterMappings: [
        {
          name: 'Tokens',
          pathSelectors: ['equals:/oauth/token', 'startsWith:/oauth/', 'contains:token', 'all'],
          withCallerCredentialsID: '50r/s',
          withCallerRemoteAddressID: '10r/1800s',
          withoutCallerID: '0r/2s',
          global: '200r/1s',
        },
        other,
      ],
    })
    assert.deepEqual(rateLimit, {
      logging: 'AllCallsWithDetails',
      credential: { kind: 'claim', section: 1, claim: 'email' },
      mappings: [
        {
          name: 'Tokens',
          selectors: [
            { kind: 'equals', text: '/oauth/token' },
            { kind: 'startsWith', text: '/oauth/' },
            { kind: 'contains', text: 'token' },
            { kind: 'all' },
          ],
          limits: {
            withCallerCredentialsID: { requests: 50, seconds: 1 },
            withCallerRemoteAddressID: { requests: 10, seconds: 1800 },
            withoutCallerID: { requests: 0, seconds: 2 },
            global: { requests: 200, seconds: 1 },
          },
        },
        { name: 'Others', selectors: [{ kind: 'other' }], limits: { global: { requests: 5, seconds: 1 } } },
      ],
    })
  })

  it('reads selector kinds case-insensitively, with surrounding spaces', async () => {
    const pathSelectors = ['Equals : /a', 'STARTSWITH:/b ', ' Contains:c d', 'Other:', 'ALL']
    const { rateLimit } = await load({ limiterMappings: [{ ...other, pathSelectors }] })
    assert.deepEqual(rateLimit?.mappings[0]?.selectors, [
      { kind: 'equals', text: '/a' },
      { kind: 'startsWith', text: '/b' },
      { kind: 'contains', text: 'c d' },
      { kind: 'other' },
      { kind: 'all' },
    ])
  })

  const credentials = [
    ['JWT', { kind: 'token' }],
    ['JWT:Header', { kind: 'section', section: 0 }],
    ['JWT:headers', { kind: 'section', section: 0 }],
    ['JWT:1', { kind: 'section', section: 1 }],
    ['JWT:Signature', { kind: 'section', section: 2 }],
    ['JWT:2', { kind: 'section', section: 2 }],
    ['JWT:Payload+"sub":"(.*?)"', { kind: 'pattern', section: 1, pattern: '"sub":"(.*?)"' }],
    ['JWTjsonField:0:kid', { kind: 'claim', section: 0, claim: 'kid' }],
  ] as const
  for (const [credentialID, want] of credentials) {
    // Covers rate limiting: credentialID
    it(`accepts credentialID ${credentialID}`, async () => {
      assert.deepEqual((await load({ credentialID, limiterMappings: [other] })).rateLimit?.credential, want)
    })
  }

  const credential = 'ratelimit.credentialID'
  const forms = 'must be JWT, JWT:<section>, JWT:<section>+<regular expression> or JWTjsonField:<section>:<claim>'
  const selector = 'must be equals:/path, startsWith:/path, contains:text, other or all'
  const rate = 'must be <n>r/<s>s with 1 to 1800 seconds, such as 50r/s or 1r/60s'
  const mapping = 'ratelimit.limiterMappings[0]'
  const refused: readonly { readonly name: string; readonly section: object; readonly want: readonly string[] }[] = [
    { name: 'no mappings', section: {}, want: ['ratelimit.limiterMappings: is missing'] },
    {
      name: 'an empty list of mappings',
      section: { limiterMappings: [] },
      want: ['ratelimit.limiterMappings: must have at least 1 entries'],
    },
    {
      name: 'an unknown key',
      section: { limiterMappings: [{ ...other, limit: '1r/s' }] },
      want: [`${mapping}.limit: is not a known key`],
    },
    {
      name: 'a mapping without a limit',
      section: { limiterMappings: [{ name: 'x', pathSelectors: ['all'] }] },
      want: [
        `${mapping}: must have at least one of withCallerCredentialsID, withCallerRemoteAddressID, withoutCallerID, global`,
      ],
    },
    {
      name: 'a mapping without selectors',
      section: { limiterMappings: [{ ...other, pathSelectors: [] }] },
      want: [`${mapping}.pathSelectors: must have at least 1 entries`],
    },
    // Covers rate limiting: limiterMappings[].name
    {
      name: 'repeated names and selectors',
      section: {
        limiterMappings: [
          { ...other, pathSelectors: ['other', 'equals:/a'] },
          { ...other, pathSelectors: ['Equals: /a', 'equals:/b', 'equals:/b'] },
        ],
      },
      want: [
        'ratelimit.limiterMappings[1].name: is already used by ratelimit.limiterMappings[0].name',
        'ratelimit.limiterMappings[1].pathSelectors[0]: is already used by ratelimit.limiterMappings[0].pathSelectors[1]',
        'ratelimit.limiterMappings[1].pathSelectors[2]: is already used by ratelimit.limiterMappings[1].pathSelectors[1]',
      ],
    },
    {
      name: 'an unknown logging option',
      section: { loggingOption: 'Some', limiterMappings: [other] },
      want: ['ratelimit.loggingOption: must be one of OnlyLimited, AllCalls, AllCallsWithDetails'],
    },
    {
      name: 'a limit by credentials without credentialID',
      section: { limiterMappings: [{ ...other, withCallerCredentialsID: '1r/s' }] },
      want: [`${mapping}.withCallerCredentialsID: needs ratelimit.credentialID`],
    },
    ...['', 'other:x', 'equals:', 'equals:token', 'startsWith:x', 'contains: ', 'regex:/a', 'equals /a'].map(bad => ({
      name: `the selector ${JSON.stringify(bad)}`,
      section: { limiterMappings: [{ ...other, pathSelectors: [bad] }] },
      want: [`${mapping}.pathSelectors[0]: ${selector}`],
    })),
    ...['50', '50r', '50r/', 'r/s', '-1r/s', '1.5r/s', '50r/0s', '50r/1801s', '50r/m', '50 r/s', '9999999999r/s'].map(
      bad => ({
        name: `the rate ${bad}`,
        section: { limiterMappings: [{ ...other, global: bad }] },
        want: [`${mapping}.global: ${rate}`],
      }),
    ),
    ...[
      'jwt',
      'JWT:',
      'JWT:3',
      'JWT:Body',
      'JWT:1:',
      'JWT:1+',
      'JWTjsonField:1',
      'JWTjsonField:1:',
      'JWTjsonField:2:x',
      'JWTjsonField:1+x',
      'JWT:__proto__',
    ].map(bad => ({
      name: `the credential ${bad}`,
      section: { credentialID: bad, limiterMappings: [other] },
      want: [`${credential}: ${forms}`],
    })),
    {
      name: 'an invalid regular expression',
      section: { credentialID: 'JWT:1+(', limiterMappings: [other] },
      want: [`${credential}: the regular expression is not valid: missing closing ): \`(\``],
    },
    {
      name: 'a regular expression with a back-reference',
      section: { credentialID: 'JWT:1+(a)\\1', limiterMappings: [other] },
      want: [`${credential}: the regular expression is not valid: invalid escape sequence: \`\\1\``],
    },
    {
      name: 'a regular expression without a group',
      section: { credentialID: 'JWT:1+sub', limiterMappings: [other] },
      want: [`${credential}: the regular expression must have a group (…) that identifies the caller`],
    },
    {
      name: 'wrong types, reporting only those',
      section: { loggingOption: 1, credentialID: [], limiterMappings: [{ name: 1, pathSelectors: 'all', global: 5 }] },
      want: [
        'ratelimit.loggingOption: must be a string: put it in quotes',
        `${credential}: must be a string`,
        `${mapping}.name: must be a string: put it in quotes`,
        `${mapping}.pathSelectors: must be a list`,
        `${mapping}.global: must be a string: put it in quotes`,
      ],
    },
  ]
  for (const { name, section, want } of refused) {
    it(`rejects ${name}`, async () => assert.deepEqual(await problemsOf(load(section)), want))
  }
})
