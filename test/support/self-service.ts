// Shared by tests of account self-service: sign-up, password reset and changes of email addresses.
import assert from 'node:assert/strict'
import { TooManyHashes } from '../../src/base/passwords.ts'
import type { AddressedMail } from '../../src/mail/mailer.ts'
import { hiddenFields } from './forms.ts'
import type { Browser, TestAnswer, TestServer } from './server.ts'

/** A password that satisfies the policy of both modes. */
export const NEW_PASSWORD = 'a sea of green glass'

/** A provider elsewhere, where its users have their passwords. */
export const CORP = {
  originKey: 'corp',
  type: 'oidc1.0',
  name: 'Corp',
  config: { issuer: 'https://idp.corp.example', relyingPartyId: 'latchkey', relyingPartySecret: 'secret' },
}

/** The internal provider of a zone that keeps its accounts elsewhere. */
export const CLOSED_INTERNAL = [
  { originKey: 'svc', type: 'svc', name: 'svc', config: { disableInternalUserManagement: true } },
]

/** The text of the page between its tags. */
export const textOf = (page: string): string =>
  page
    .slice(page.indexOf('<main'))
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()

/** Opens the page and posts its form with these fields. */
export async function submitted(
  browser: Browser,
  page: string,
  { action, ...fields }: Readonly<Record<string, string>> & { readonly action: string },
): Promise<TestAnswer> {
  const shown = await browser.send(page)
  assert.equal(shown.status, 200, shown.text)
  return browser.send(action, { form: { ...hiddenFields(shown.text), ...fields } })
}

/** Signs up with the form. */
export const signUpWith = (browser: Browser, email: string, more: Readonly<Record<string, string>> = {}) =>
  submitted(browser, '/create_account', {
    action: '/create_account.do',
    email,
    password: NEW_PASSWORD,
    password_confirmation: NEW_PASSWORD,
    ...more,
  })

/** The newest mail to the address; advances the clock afterwards, so that later ones are newer. */
export async function mailTo(server: TestServer, email: string): Promise<AddressedMail> {
  const mail = (await server.mails()).find(({ to }) => to === email)
  server.clock.advance(1)
  assert.ok(mail, `no mail to ${email}`)
  return mail
}

/** The link of that mail, as path and query. */
export async function linkTo(server: TestServer, email: string): Promise<string> {
  const { text } = await mailTo(server, email)
  const url = /https?:\/\/\S+/.exec(text)?.[0]
  assert.ok(url, text)
  const { pathname, search } = new URL(url)
  return pathname + search
}

/** Presses the button of the page that a mailed link leads to. */
export const confirmed = (browser: Browser, link: string, fields: Readonly<Record<string, string>> = {}) =>
  submitted(browser, link, { action: link.replace(/\?.*/, ''), ...fields })

/** Does the work while a busy server refuses to change accounts in these ways. */
export async function whileBusy<T>(
  { store: { users } }: TestServer,
  work: () => Promise<T>,
  refused: readonly (keyof TestServer['store']['users'])[] = ['setPassword', 'replace'],
): Promise<T> {
  const usual = { ...users }
  const refuse = () => Promise.reject(new TooManyHashes())
  Object.assign(users, Object.fromEntries(refused.map(name => [name, refuse])))
  try {
    return await work()
  } finally {
    Object.assign(users, usual)
  }
}
