import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { zoneStylesheet } from '../../src/pages/parts/zone-stylesheet.ts'

const rule = (background: string, text: string): string =>
  `:root {\n  --banner-background: ${background};\n  --banner-text: ${text};\n}\n`

// Covers layout and branding: banner.textColor
describe('`zoneStylesheet`', () => {
  const cases = [
    { name: 'returns undefined without a banner', banner: undefined, want: undefined },
    { name: 'returns undefined without colours', banner: { text: 'Hello' }, want: undefined },
    {
      name: 'sets both colours',
      banner: { backgroundColor: '#FFD54A', textColor: '#123' },
      want: rule('#ffd54a', '#112233'),
    },
    {
      name: 'chooses black on a light background',
      banner: { backgroundColor: '#ffd54a' },
      want: rule('#ffd54a', '#000000'),
    },
    {
      name: 'chooses white on a dark background',
      banner: { backgroundColor: '#003' },
      want: rule('#000033', '#ffffff'),
    },
    {
      name: 'keeps a text colour on the default background',
      banner: { textColor: '#fee' },
      want: rule('#123f34', '#ffeeee'),
    },
    {
      name: 'replaces a text colour without contrast',
      banner: { backgroundColor: '#ffffff', textColor: '#eee' },
      want: rule('#ffffff', '#000000'),
    },
    { name: 'ignores named colours', banner: { backgroundColor: 'red' }, want: undefined },
    { name: 'ignores colours of four digits', banner: { backgroundColor: '#1234' }, want: undefined },
    {
      name: 'ignores values that would end the rule',
      banner: { backgroundColor: '#fff;}body{background:url(https://example.org)', textColor: '#000\n}' },
      want: undefined,
    },
  ]
  for (const { name, banner, want } of cases) {
    it(name, () => assert.equal(zoneStylesheet(banner === undefined ? {} : { banner }), want))
  }
})
