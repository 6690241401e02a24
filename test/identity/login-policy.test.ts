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
  { name: 'shows the form and the links that have a text, in the order of their texts', given: {}, want: form },
  {
    name: 'shows the form alone where there is nothing else',
    given: { providers: [svc] },
    want: { ...form, links: [] },
  },
  { name: 'shows links alone where no provider takes passwords', given: { providers: [corp, bank] }, want: links },
  { name: 'shows nothing where there is nothing', given: { providers: [] }, want: { ...links, links: [] } },
  // Covers provider selection GET /login: active and allowed
  {
    name: 'leaves out what the client does not allow',
    given: { allowed: ['svc', 'bank'] },
    want: { ...form, links: ['bank'] },
  },
  { name: 'shows nothing to a client that allows nothing', given: { allowed: [] }, want: { ...links, links: [] } },
  // Covers provider selection GET /login: allowedproviders names one internal
  { name: 'binds the form for a client of one provider', given: { allowed: ['svc'] }, want: bound('svc') },
  {
    name: 'binds the form to a directory that is the only one allowed',
    given: { providers: [svc, ldap, corp], allowed: ['ldap'] },
    want: bound('ldap'),
  },
  // Covers GET /login: page: redirect to the only external provider
  // Covers provider selection GET /login: only external candidate
  { name: 'goes to the only provider there is', given: { providers: [corp] }, want: to('corp') },
  { name: 'goes to the only provider allowed, link or not', given: { allowed: ['quiet'] }, want: to('quiet') },
  {
    name: 'stays when the only provider just failed',
    given: { providers: [corp], failed: true },
    want: { ...links, links: ['corp'] },
  },

  { name: 'binds the form to a hint', given: { hint: json('svc') }, want: bound('svc') },
  { name: 'accepts an encoded hint', given: { hint: encodeURIComponent(json('svc')) }, want: bound('svc') },
  {
    name: 'accepts a hint encoded twice',
    given: { hint: encodeURIComponent(encodeURIComponent(json('corp'))) },
    want: to('corp'),
  },
  // Covers provider selection GET /login: hint with an origin
  { name: 'goes where a hint says', given: { hint: json('corp') }, want: to('corp') },
  { name: 'goes to a provider without a link by a hint', given: { hint: json('quiet') }, want: to('quiet') },
  {
    name: 'follows a hint past discovery',
    given: { hint: json('corp'), discovery: true, accountChooser: true },
    want: to('corp'),
  },
  { name: 'follows a hint past the default', given: { hint: json('corp'), defaultOrigin: 'bank' }, want: to('corp') },
  { name: 'keeps a bound form when something failed', given: { hint: json('svc'), failed: true }, want: bound('svc') },
  { name: 'goes nowhere by a hint when something failed', given: { hint: json('corp'), failed: true }, want: form },
  // Covers provider selection GET /login: invalid hint
  {
    name: 'says that the hint names no provider',
    given: { hint: json('nowhere') },
    want: { ...form, error: 'invalid_login_hint' },
  },
  {
    name: 'says that an empty origin names no provider',
    given: { hint: json('') },
    want: { ...form, error: 'invalid_login_hint' },
  },
  {
    name: 'says so of a provider that the client does not allow',
    given: { hint: json('corp'), allowed: ['svc', 'bank'] },
    want: { ...form, links: ['bank'], error: 'invalid_login_hint' },
  },
  {
    name: 'says so rather than going to the default or asking for an address',
    given: { hint: json('nowhere'), defaultOrigin: 'corp', discovery: true },
    want: { ...form, error: 'invalid_login_hint' },
  },

  // Covers provider selection GET /login: hint as e-mail domain
  { name: 'goes to the provider of a domain', given: { hint: 'corp.example' }, want: to('corp') },
  { name: 'goes to the provider of a domain in any case', given: { hint: 'CORP.Example' }, want: to('corp') },
  {
    name: 'goes to the provider of an address, and passes the name on',
    given: { hint: 'pat@eu.corp.example' },
    want: { ...to('corp'), userName: 'pat@eu.corp.example' },
    uaa: to('corp'),
  },
  {
    name: 'binds the form to the directory of a domain',
    given: { providers: [svc, ldap, corp], hint: 'staff.example' },
    want: bound('ldap'),
  },
  // Covers compatibility: authorization request: A13 `login_hint`
  {
    name: 'fills in an address of the domain of several',
    given: { hint: 'pat@bank.example' },
    want: { ...form, userName: 'pat@bank.example' },
    uaa: { kind: 'misconfigured' },
  },
  {
    name: 'fills in a domain of several',
    given: { hint: 'bank.example' },
    want: { ...form, userName: 'bank.example' },
    uaa: { kind: 'misconfigured' },
  },
  {
    name: 'goes to the only allowed provider of a domain of several',
    given: { hint: 'bank.example', allowed: ['svc', 'bank'] },
    want: to('bank'),
  },
  { name: 'fills in any other text', given: { hint: 'marissa' }, want: { ...form, userName: 'marissa' }, uaa: form },
  {
    name: 'fills in what begins like JSON',
    given: { hint: '{"origin"' },
    want: { ...form, userName: '{"origin"' },
    uaa: form,
  },
  { name: 'has nothing of an empty hint', given: { hint: '' }, want: form },
  {
    name: 'goes to the default with a text that leads nowhere',
    given: { hint: 'marissa', defaultOrigin: 'corp' },
    want: { ...to('corp'), userName: 'marissa' },
    uaa: to('corp'),
  },
  {
    name: 'asks for the address with a name filled in',
    given: { hint: 'marissa', discovery: true },
    want: { kind: 'email', userName: 'marissa' },
    uaa: { kind: 'email' },
  },
  {
    name: 'reports no misconfiguration when something failed already',
    given: { hint: 'bank.example', failed: true },
    want: { ...form, userName: 'bank.example' },
    uaa: form,
  },

  { name: 'goes to the default', given: { defaultOrigin: 'corp' }, want: to('corp') },
  { name: 'binds the form to the default', given: { defaultOrigin: 'svc' }, want: bound('svc') },
  { name: 'knows no default that does not exist', given: { defaultOrigin: 'gone' }, want: form },
  {
    name: 'knows no default that the client does not allow',
    given: { defaultOrigin: 'corp', allowed: ['svc', 'bank'] },
    want: { ...form, links: ['bank'] },
  },
  {
    name: 'does not go to the default when something failed',
    given: { defaultOrigin: 'corp', failed: true },
    want: form,
  },
  {
    name: 'asks for the address before the default',
    given: { defaultOrigin: 'corp', discovery: true },
    want: { kind: 'email' },
  },
  {
    name: 'asks for the origin before the default',
    given: { defaultOrigin: 'corp', accountChooser: true },
    want: { kind: 'origin' },
  },
  {
    name: 'goes to the default after discovery',
    given: { defaultOrigin: 'corp', discovery: true, discoveryPerformed: true },
    want: to('corp'),
  },

  { name: 'asks for the address', given: { discovery: true }, want: { kind: 'email' } },
  {
    name: 'asks for the address rather than the origin',
    given: { discovery: true, accountChooser: true },
    want: { kind: 'email' },
  },
  { name: 'asks for the origin', given: { accountChooser: true }, want: { kind: 'origin' } },
  { name: 'shows the form after discovery', given: { discovery: true, discoveryPerformed: true }, want: form },
  {
    name: 'shows the form after the choice of an origin',
    given: { accountChooser: true, discoveryPerformed: true },
    want: form,
  },
  { name: 'shows what failed on the form', given: { discovery: true, failed: true }, want: form },
  { name: 'asks nothing where one provider is left', given: { discovery: true, providers: [corp] }, want: to('corp') },
  {
    name: 'asks nothing where nothing is left',
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
    { name: 'goes to the provider of the domain', email: 'pat@corp.example', want: to('corp') },
    { name: 'goes by a whole label in the place of a star', email: 'pat@eu.CORP.example', want: to('corp') },
    { name: 'takes the domain behind the last at', email: 'a@b@corp.example', want: to('corp') },
    { name: 'goes back with an address of several', email: 'pat@bank.example', want: { kind: 'page' } },
    { name: 'goes back with an address of an unknown domain', email: 'pat@nowhere.example', want: { kind: 'page' } },
    { name: 'goes back with an address of the directory', email: 'pat@staff.example', want: { kind: 'page' } },
    { name: 'goes back with what is not an address and fits all', email: 'marissa', want: { kind: 'page' } },
    { name: 'goes back with an address without a domain', email: 'marissa@', want: { kind: 'page' } },
    {
      name: 'asks for the password where only we are left',
      email: 'marissa',
      allowed: ['svc'],
      want: { kind: 'password', origin: 'svc' },
    },
    {
      name: 'asks for no password of an address that is not ours',
      email: 'm@x.example',
      allowed: ['svc'],
      want: { kind: 'page' },
    },
    {
      name: 'asks for the password of our own domain',
      email: 'm@here.example',
      providers: [{ ...svc, emailDomains: ['here.example'] }, corp],
      want: { kind: 'password', origin: 'svc' },
    },
    { name: 'goes to the only provider with any name', email: 'pat', allowed: ['corp'], want: to('corp') },
    {
      name: 'goes nowhere that the client does not allow',
      email: 'pat@corp.example',
      allowed: ['svc'],
      want: { kind: 'page' },
    },
  ]
  for (const { name, email, allowed, providers = all, want } of discoveries) {
    it(name, () => assert.deepEqual(discover({ providers, allowed }, email, 'svc'), want))
  }
})

describe('e-mail domains', () => {
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

  it('match nothing where a provider has none', () => {
    assert.equal(domainMatcher('example.com')(undefined), false)
    assert.equal(domainMatcher('example.com')([]), false)
  })

  it('are compared quickly, however long the domain is and however many patterns there are', () => {
    const han = (count: number): string =>
      Array.from({ length: count }, (_, index) => String.fromCodePoint(0x4e00 + ((index * 7919) % 20_000))).join('')
    const patterns = Array.from({ length: 1000 }, (_, index) => `${han(60)}.${index}.example`)
    const elapsed = cpuStopwatch()
    for (let round = 0; round < 100; round += 1) {
      assert.equal(domainMatcher(`${han(1700)}${round}.example`)(patterns), false)
      assert.equal(domainMatcher('é.example')(patterns), false)
    }
    assert.ok(elapsed() < 2000, `${elapsed()} ms`) // 60 ms on a quiet machine, and 7 s if each were written anew
  })

  it('are the text after the last @', () => {
    assert.equal(emailDomainOf('a@b@c'), 'c')
    assert.equal(emailDomainOf('abc'), undefined)
    assert.equal(emailDomainOf('abc@'), '')
  })
})
