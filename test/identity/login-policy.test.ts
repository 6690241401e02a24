import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { chooseLogin, discover } from '../../src/identity/login-policy.ts'
import type { Candidate, LoginSituation, LoginView } from '../../src/identity/login-policy.ts'
import { domainMatcher, emailDomainOf } from '../../src/model/zones/identity-provider.ts'
import { cpuStopwatch } from '../support/cpu-time.ts'

const svc: Candidate = { origin: 'svc', by: 'form' }
const ldap: Candidate = { origin: 'ldap', by: 'form', emailDomains: ['staff.example'] }
const corp: Candidate = {
  origin: 'corp',
  by: 'redirect',
  emailDomains: ['corp.example', '*.corp.example'],
  linkText: 'corp',
}
const bank: Candidate = { origin: 'bank', by: 'redirect', emailDomains: ['bank.example'], linkText: 'Bank' }
const quiet: Candidate = { origin: 'quiet', by: 'redirect', emailDomains: ['bank.example', 'q.example'] }

const usual: LoginSituation = {
  discovery: false,
  accountChooser: false,
  providers: [svc, corp, bank, quiet],
  hintMayBeName: true,
  discoveryPerformed: false,
  failed: false,
}
const form = { kind: 'form', takesPasswords: true, links: ['bank', 'corp'] } as const
const links = { ...form, takesPasswords: false }
const bound = (origin: string) => ({ kind: 'form', takesPasswords: true, links: [], origin }) as const
const to = (origin: string) => ({ kind: 'redirect', origin }) as const
const json = (origin: string): string => JSON.stringify({ origin })

interface Case {
  readonly name: string
  readonly given: Partial<LoginSituation>
  readonly want: LoginView
  /** What `uaa` does where it differs. */
  readonly uaa?: LoginView
}

const cases: readonly Case[] = [
  { name: 'shows the form and the links with a text, sorted by text', given: {}, want: form },
  {
    name: 'shows only the form without external providers',
    given: { providers: [svc] },
    want: { ...form, links: [] },
  },
  { name: 'shows only links if no provider takes passwords', given: { providers: [corp, bank] }, want: links },
  { name: 'shows nothing without providers', given: { providers: [] }, want: { ...links, links: [] } },
  // Covers provider selection GET /login: active and allowed
  {
    name: 'omits providers that the client does not allow',
    given: { allowed: ['svc', 'bank'] },
    want: { ...form, links: ['bank'] },
  },
  { name: 'shows nothing if the client allows no provider', given: { allowed: [] }, want: { ...links, links: [] } },
  // Covers provider selection GET /login: allowedproviders names one internal
  { name: 'binds the form if the client allows one provider', given: { allowed: ['svc'] }, want: bound('svc') },
  {
    name: 'binds the form to LDAP if the client allows no other provider',
    given: { providers: [svc, ldap, corp], allowed: ['ldap'] },
    want: bound('ldap'),
  },
  // Covers GET /login: page: redirect to the only external provider
  // Covers provider selection GET /login: only external candidate
  { name: 'redirects to the only provider', given: { providers: [corp] }, want: to('corp') },
  {
    name: 'redirects to the only allowed provider, even without a link',
    given: { allowed: ['quiet'] },
    want: to('quiet'),
  },
  {
    name: 'does not redirect if the only provider just failed',
    given: { providers: [corp], failed: true },
    want: { ...links, links: ['corp'] },
  },

  { name: 'binds the form to the origin of a hint', given: { hint: json('svc') }, want: bound('svc') },
  { name: 'accepts a percent-encoded hint', given: { hint: encodeURIComponent(json('svc')) }, want: bound('svc') },
  {
    name: 'accepts a doubly percent-encoded hint',
    given: { hint: encodeURIComponent(encodeURIComponent(json('corp'))) },
    want: to('corp'),
  },
  // Covers provider selection GET /login: hint with an origin
  { name: 'redirects to the origin of a hint', given: { hint: json('corp') }, want: to('corp') },
  { name: 'redirects to a provider without a link for a hint', given: { hint: json('quiet') }, want: to('quiet') },
  {
    name: 'prefers a hint to discovery',
    given: { hint: json('corp'), discovery: true, accountChooser: true },
    want: to('corp'),
  },
  {
    name: 'prefers a hint to the default provider',
    given: { hint: json('corp'), defaultOrigin: 'bank' },
    want: to('corp'),
  },
  { name: 'keeps the form bound after a failure', given: { hint: json('svc'), failed: true }, want: bound('svc') },
  {
    name: 'ignores a hint to an external provider after a failure',
    given: { hint: json('corp'), failed: true },
    want: form,
  },
  // Covers provider selection GET /login: invalid hint
  {
    name: 'reports a hint with an unknown origin',
    given: { hint: json('nowhere') },
    want: { ...form, error: 'invalid_login_hint' },
  },
  {
    name: 'reports a hint with an empty origin',
    given: { hint: json('') },
    want: { ...form, error: 'invalid_login_hint' },
  },
  {
    name: 'reports a hint with an origin that the client does not allow',
    given: { hint: json('corp'), allowed: ['svc', 'bank'] },
    want: { ...form, links: ['bank'], error: 'invalid_login_hint' },
  },
  {
    name: 'reports an invalid hint before using the default provider or discovery',
    given: { hint: json('nowhere'), defaultOrigin: 'corp', discovery: true },
    want: { ...form, error: 'invalid_login_hint' },
  },

  // Covers provider selection GET /login: hint as e-mail domain
  { name: 'redirects to the provider of a domain', given: { hint: 'corp.example' }, want: to('corp') },
  { name: 'compares domains case-insensitively', given: { hint: 'CORP.Example' }, want: to('corp') },
  {
    name: 'redirects to the provider of an email address, and passes it on as user name',
    given: { hint: 'pat@eu.corp.example' },
    want: { ...to('corp'), userName: 'pat@eu.corp.example' },
    uaa: to('corp'),
  },
  {
    name: 'binds the form to LDAP for its domain',
    given: { providers: [svc, ldap, corp], hint: 'staff.example' },
    want: bound('ldap'),
  },
  // Covers compatibility: authorization request: A13 `login_hint`
  {
    name: 'fills in an email address whose domain has several providers',
    given: { hint: 'pat@bank.example' },
    want: { ...form, userName: 'pat@bank.example' },
    uaa: { kind: 'misconfigured' },
  },
  {
    name: 'fills in a domain with several providers',
    given: { hint: 'bank.example' },
    want: { ...form, userName: 'bank.example' },
    uaa: { kind: 'misconfigured' },
  },
  {
    name: 'redirects to the only allowed provider of a domain',
    given: { hint: 'bank.example', allowed: ['svc', 'bank'] },
    want: to('bank'),
  },
  { name: 'fills in any other hint', given: { hint: 'marissa' }, want: { ...form, userName: 'marissa' }, uaa: form },
  {
    name: 'fills in a hint that is malformed JSON',
    given: { hint: '{"origin"' },
    want: { ...form, userName: '{"origin"' },
    uaa: form,
  },
  { name: 'ignores an empty hint', given: { hint: '' }, want: form },
  {
    name: 'redirects to the default provider with a user name as hint',
    given: { hint: 'marissa', defaultOrigin: 'corp' },
    want: { ...to('corp'), userName: 'marissa' },
    uaa: to('corp'),
  },
  {
    name: 'fills the user name in on the email page',
    given: { hint: 'marissa', discovery: true },
    want: { kind: 'email', userName: 'marissa' },
    uaa: { kind: 'email' },
  },
  {
    name: 'reports no misconfiguration after a failure',
    given: { hint: 'bank.example', failed: true },
    want: { ...form, userName: 'bank.example' },
    uaa: form,
  },

  { name: 'redirects to the default provider', given: { defaultOrigin: 'corp' }, want: to('corp') },
  { name: 'binds the form to the default provider', given: { defaultOrigin: 'svc' }, want: bound('svc') },
  { name: 'ignores an unknown default provider', given: { defaultOrigin: 'gone' }, want: form },
  {
    name: 'ignores a default provider that the client does not allow',
    given: { defaultOrigin: 'corp', allowed: ['svc', 'bank'] },
    want: { ...form, links: ['bank'] },
  },
  {
    name: 'does not redirect to the default provider after a failure',
    given: { defaultOrigin: 'corp', failed: true },
    want: form,
  },
  {
    name: 'prefers discovery to the default provider',
    given: { defaultOrigin: 'corp', discovery: true },
    want: { kind: 'email' },
  },
  {
    name: 'prefers the account chooser to the default provider',
    given: { defaultOrigin: 'corp', accountChooser: true },
    want: { kind: 'origin' },
  },
  {
    name: 'redirects to the default provider after discovery',
    given: { defaultOrigin: 'corp', discovery: true, discoveryPerformed: true },
    want: to('corp'),
  },

  { name: 'asks for the email address with discovery', given: { discovery: true }, want: { kind: 'email' } },
  {
    name: 'prefers discovery to the account chooser',
    given: { discovery: true, accountChooser: true },
    want: { kind: 'email' },
  },
  { name: 'asks for the origin with the account chooser', given: { accountChooser: true }, want: { kind: 'origin' } },
  { name: 'shows the form after discovery', given: { discovery: true, discoveryPerformed: true }, want: form },
  {
    name: 'shows the form after the choice of an origin',
    given: { accountChooser: true, discoveryPerformed: true },
    want: form,
  },
  { name: 'shows the form after a failure', given: { discovery: true, failed: true }, want: form },
  { name: 'skips discovery with one provider', given: { discovery: true, providers: [corp] }, want: to('corp') },
  {
    name: 'skips discovery without providers',
    given: { discovery: true, allowed: [] },
    want: { ...links, links: [] },
  },
]

describe('chooseLogin', () => {
  for (const { name, given, want, uaa = want } of cases) {
    it(name, () => {
      assert.deepEqual(chooseLogin({ ...usual, ...given }), want)
      assert.deepEqual(chooseLogin({ ...usual, ...given, hintMayBeName: false }), uaa, 'in uaa')
    })
  }
})

describe('discover', () => {
  const all = [svc, ldap, corp, bank, quiet]
  const discoveries = [
    { name: 'redirects to the provider of the domain', email: 'pat@corp.example', want: to('corp') },
    { name: 'matches a wildcard to a whole label', email: 'pat@eu.CORP.example', want: to('corp') },
    { name: 'takes the domain after the last @', email: 'a@b@corp.example', want: to('corp') },
    {
      name: 'returns to the page if the domain has several providers',
      email: 'pat@bank.example',
      want: { kind: 'page' },
    },
    { name: 'returns to the page for an unknown domain', email: 'pat@nowhere.example', want: { kind: 'page' } },
    { name: 'returns to the page for a domain of LDAP', email: 'pat@staff.example', want: { kind: 'page' } },
    { name: 'returns to the page for a name without a domain', email: 'marissa', want: { kind: 'page' } },
    { name: 'returns to the page for an empty domain', email: 'marissa@', want: { kind: 'page' } },
    {
      name: 'asks for the password if only the internal provider is allowed',
      email: 'marissa',
      allowed: ['svc'],
      want: { kind: 'password', origin: 'svc' },
    },
    {
      name: 'returns to the page for an unknown domain if only the internal provider is allowed',
      email: 'm@x.example',
      allowed: ['svc'],
      want: { kind: 'page' },
    },
    {
      name: 'asks for the password for a domain of the internal provider',
      email: 'm@here.example',
      providers: [{ ...svc, emailDomains: ['here.example'] }, corp],
      want: { kind: 'password', origin: 'svc' },
    },
    { name: 'redirects to the only allowed provider with any name', email: 'pat', allowed: ['corp'], want: to('corp') },
    {
      name: 'does not redirect to a provider that the client does not allow',
      email: 'pat@corp.example',
      allowed: ['svc'],
      want: { kind: 'page' },
    },
  ]
  for (const { name, email, allowed, providers = all, want } of discoveries) {
    it(name, () => assert.deepEqual(discover({ providers, allowed }, email, 'svc'), want))
  }
})

describe('Email domains', () => {
  const matches: readonly [pattern: string, domain: string, want: boolean][] = [
    ['example.com', 'example.com', true],
    ['Example.COM', 'eXample.com', true],
    ['*.example.com', 'eu.example.com', true],
    ['*.example.com', 'example.com', false],
    // Covers e-mail domain matching: wildcard label
    ['*.example.com', 'a.b.example.com', false],
    ['*.*.com', 'eu.example.com', true],
    ['*.com', 'eu.example.com', false],
    ['example.com', 'eu.example.com', false],
    ['example.com', 'example.com.evil', false],
    // Covers e-mail domain matching: exact labels
    ['example.com', 'notexample.com', false],
    ['ex*.com', 'example.com', false],
    ['*', 'localhost', true],
    ['*', '', false],
    ['*.com', '.com', false],
    ['', '', false],
    ['bücher.example', 'xn--bcher-kva.example', true],
    ['xn--bcher-kva.example', 'BÜCHER。example', true],
    ['*.é', 'a.é', true],
    [`${'é'.repeat(64)}.example`, `${'é'.repeat(64)}.example`, false],
  ]
  for (const [pattern, domain, want] of matches) {
    it(`${want ? 'match' : 'do not match'} ${pattern || 'nothing'} and ${domain || 'nothing'}`, () =>
      assert.equal(domainMatcher(domain)([pattern]), want))
  }

  it('match nothing if the provider has no domains', () => {
    assert.equal(domainMatcher('example.com')(undefined), false)
    assert.equal(domainMatcher('example.com')([]), false)
  })

  it('are matched in linear time for long domains and many patterns', () => {
    const han = (count: number): string =>
      Array.from({ length: count }, (_, index) => String.fromCodePoint(0x4e00 + ((index * 7919) % 20_000))).join('')
    const patterns = Array.from({ length: 1000 }, (_, index) => `${han(60)}.${index}.example`)
    const elapsed = cpuStopwatch()
    for (let round = 0; round < 100; round += 1) {
      assert.equal(domainMatcher(`${han(1700)}${round}.example`)(patterns), false)
      assert.equal(domainMatcher('é.example')(patterns), false)
    }
    assert.ok(elapsed() < 2000, `${elapsed()} ms`) // 60 ms on an idle machine, and 7 s if each pattern were converted again
  })

  it('are taken after the last @', () => {
    assert.equal(emailDomainOf('a@b@c'), 'c')
    assert.equal(emailDomainOf('abc'), undefined)
    assert.equal(emailDomainOf('abc@'), '')
  })
})
