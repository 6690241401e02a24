// Posts an answer in the fragment of the URL, which no server sees, back to where it came (OpenID Connect Core §3.2.2.5).
const form = document.getElementById('form_post')
const given = new URLSearchParams(location.hash.slice(1))
history.replaceState(null, '', location.pathname) // no token stays in the history
for (const name of form.dataset.fields.split(' ')) {
  for (const value of given.getAll(name)) {
    const field = document.createElement('input')
    field.type = 'hidden'
    field.name = name
    field.value = value
    form.append(field)
  }
}
form.submit()
