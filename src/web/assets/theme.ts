/**
 * Applies the theme that the reader chose, before the page is drawn. A plain script, not a module:
 * modules run after that.
 */
const chosenTheme = localStorage.getItem('theme')
if (chosenTheme === 'light' || chosenTheme === 'dark')
  document.documentElement.dataset.theme = chosenTheme
