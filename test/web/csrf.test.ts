import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { hiddenFields, setCookies } from '../support/forms.ts'
import type { TestRequest, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'

const VALUE = 'abcdefghijklmnopqrstuv'
const OTHER = 'ABCDEFGHIJKLMNOPQRSTUV'
const NAME = 'X-Svc-Csrf'

describe('the anti-forgery value', () => {
  let server: TestServer
  before(async () => {
    server = await startServer()
  })
  after(() => server.stop())

  it('is new for who has none, and differs from one to the next', async () => {
    const values = await Promise.all([1, 2, 3].map(async () => (await server.send('/login')).cookies[NAME]))
    assert.equal(new Set(values).size, 3)
    for (const value of values) assert.match(value ?? '', /^[A-Za-z0-9]{22}$/)
  })

  it('stays for who has one, and lives on', async () => {
    const answer = await server.send('/login', { cookies: { [NAME]: VALUE } })
    assert.equal(setCookies(answer)[NAME], `${NAME}=${VALUE}; Max-Age=86400; Path=/; HttpOnly; SameSite=Lax`)
    assert.equal(hiddenFields(answer.text)[NAME], VALUE)
  })

  it('is replaced when it was none of ours', async () => {
    for (const odd of ['', 'short', `${VALUE}x`, 'abcdefghijklmnopqrst-_', '"><script>alert(1)</scr']) {
      const answer = await server.send('/login', { headers: { cookie: `${NAME}=${odd}` } })
      assert.match(answer.cookies[NAME] ?? '', /^[A-Za-z0-9]{22}$/)
      assert.notEqual(answer.cookies[NAME], odd)
    }
  })

  const own = 'http://localhost:8080'
  const cases: readonly {
    name: string
    cookie?: string
    field?: string
    headers?: Readonly<Record<string, string>>
    want: boolean
  }[] = [
    { name: 'the same in cookie and field', cookie: VALUE, field: VALUE, want: true },
    { name: 'the same in cookie and header', cookie: VALUE, headers: { 'x-csrf-token': VALUE }, want: true },
    {
      name: 'the field, not the header, where both come',
      cookie: VALUE,
      field: OTHER,
      headers: { 'x-csrf-token': VALUE },
      want: false,
    },
    { name: 'nothing at all', want: false },
    { name: 'a cookie alone', cookie: VALUE, want: false },
    { name: 'a field alone', field: VALUE, want: false },
    { name: 'two that differ', cookie: VALUE, field: OTHER, want: false },
    { name: 'two that differ in case', cookie: VALUE, field: VALUE.toUpperCase(), want: false },
    { name: 'an empty pair', cookie: '', field: '', want: false },
    { name: 'a pair that is none of ours', cookie: 'x', field: 'x', want: false },
    { name: 'our own origin', cookie: VALUE, field: VALUE, headers: { origin: own }, want: true },
    {
      name: 'the origin of the host that was asked, as behind a proxy',
      cookie: VALUE,
      field: VALUE,
      headers: { origin: 'https://localhost:8080' },
      want: true,
    },
    { name: 'another origin', cookie: VALUE, field: VALUE, headers: { origin: 'https://evil.example' }, want: false },
    { name: 'another port', cookie: VALUE, field: VALUE, headers: { origin: 'http://localhost:8081' }, want: false },
    {
      name: 'the origin of another zone',
      cookie: VALUE,
      field: VALUE,
      headers: { origin: 'http://z1.localhost:8080' },
      want: false,
    },
    { name: 'an origin that is none', cookie: VALUE, field: VALUE, headers: { origin: 'x' }, want: false },
    {
      name: 'an origin that is kept secret, as our own pages’ is',
      cookie: VALUE,
      field: VALUE,
      headers: { origin: 'null' },
      want: true,
    },
    {
      name: 'a form of our own site',
      cookie: VALUE,
      field: VALUE,
      headers: { 'sec-fetch-site': 'same-origin', origin: 'null' },
      want: true,
    },
    {
      name: 'a form that the person sent again',
      cookie: VALUE,
      field: VALUE,
      headers: { 'sec-fetch-site': 'none' },
      want: true,
    },
    {
      name: 'a form of a neighbouring host',
      cookie: VALUE,
      field: VALUE,
      headers: { 'sec-fetch-site': 'same-site', origin: 'null' },
      want: false,
    },
    {
      name: 'a form of another site',
      cookie: VALUE,
      field: VALUE,
      headers: { 'sec-fetch-site': 'cross-site', origin: 'null' },
      want: false,
    },
    { name: 'a site that is none', cookie: VALUE, field: VALUE, headers: { 'sec-fetch-site': 'x' }, want: false },
    {
      name: 'our own site without the value',
      cookie: VALUE,
      headers: { 'sec-fetch-site': 'same-origin', origin: own },
      want: false,
    },
  ]
  for (const { name, cookie, field, headers = {}, want } of cases) {
    it(`${want ? 'takes' : 'refuses'} ${name}`, async () => {
      const request: TestRequest = {
        form: { username: 'marissa', password: 'koala', ...(field !== undefined && { [NAME]: field }) },
        headers,
        ...(cookie !== undefined && { cookies: { [NAME]: cookie } }),
      }
      const answer = await server.send('/login.do', request)
      assert.equal(answer.headers['location'], want ? `${own}/` : `${own}/login?error=invalid_login_request`)
    })
  }
})
