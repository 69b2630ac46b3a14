from tools import github
from tools.github import Issue

issue = Issue(title="x")
return isinstance(issue, github.Issue)
